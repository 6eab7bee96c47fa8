package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/cli"
)

var codeBlock = regexp.MustCompile("(?ms)^```(yaml|console)\n(.*?)^```$")

// Every example of docs/command.md prints what it says there. A YAML block is the
// file that its first line names.
func TestExamplesOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/command.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	tried := 0
	for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "yaml" {
			name, _, _ := strings.Cut(strings.TrimPrefix(block[2], "# "), "\n")
			if err := os.WriteFile(filepath.Clean(name), []byte(block[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for example := range strings.SplitSeq(strings.TrimPrefix(block[2], "$ "), "\n$ ") {
			tried++
			line, want, _ := strings.Cut(example, "\n")
			var said bytes.Buffer
			cli.Run(t.Context(), strings.Fields(line)[1:], strings.NewReader(""), &said, &said)
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(said.String())); diff != "" {
				t.Errorf("%s (-docs +said):\n%s", line, diff)
			}
		}
	}
	if tried == 0 {
		t.Error("docs/command.md: no example")
	}
}

// Every command is in the page.
func TestDocsNameEveryCommand(t *testing.T) {
	text, err := os.ReadFile("../../docs/command.md")
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	if code := cli.Run(t.Context(), []string{"--help"}, nil, &help, &help); code != 0 {
		t.Fatal(help.String())
	}
	_, list, _ := strings.Cut(help.String(), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name != "help" && !strings.Contains(string(text), name) {
			t.Errorf("docs/command.md does not say what %s does", name)
		}
	}
}
