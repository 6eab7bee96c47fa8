package chart_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// Each file begins with the messages that a user sees, as comments.
func TestErrorsOfValues(t *testing.T) {
	forEachCase(t, "testdata/errors/*.yaml", func(t *testing.T, values map[string]any, o render.Options) string {
		_, err := render.Chart(manifest.Chart(t), values, o)
		if err == nil {
			t.Fatal("rendered, want errors")
		}
		return err.Error()
	})
}

func TestWarningsOfValues(t *testing.T) {
	forEachCase(t, "testdata/warnings/*.yaml", func(t *testing.T, values map[string]any, o render.Options) string {
		warnings, err := render.Warnings(manifest.Chart(t), values, o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := render.Chart(manifest.Chart(t), values, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range warnings {
			if !strings.Contains(m.Notes(), a.Error()) {
				t.Errorf("NOTES does not say %q", a)
			}
		}
		return warnings.Error()
	})
}

// A case may name the version of Kubernetes that it needs.
var caseKubernetes = regexp.MustCompile(`(?m)^# Kubernetes: (\S+)$`)

// forEachCase compares the result of run for each file's values with the comments at the top of the file.
func forEachCase(t *testing.T, pattern string, run func(*testing.T, map[string]any, render.Options) string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no cases: %v", pattern, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := leadingComments(string(text))
			o := manifest.Options
			if m := caseKubernetes.FindStringSubmatch(string(text)); m != nil {
				o.KubeVersion = m[1]
			}
			got := run(t, manifest.Values(t, string(text)), o)
			if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// leadingComments returns the comment at the top of a case, without #.
func leadingComments(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		sentence, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			break
		}
		lines = append(lines, sentence)
	}
	return lines
}

// sentence is a line of a define of errors or warnings: a key, a colon, and the message.
var sentence = regexp.MustCompile(`(?m)^[a-z{][-\w.{}$ ]*: (.+)$`)

// action is a template action in a sentence.
var action = regexp.MustCompile(`\{\{.*?\}\}`)

func TestEveryMessageHasACase(t *testing.T) {
	seen := ""
	for _, kind := range []string{"errors", "warnings"} {
		names, err := filepath.Glob(filepath.Join("testdata", kind, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			seen += string(text)
		}
	}
	files, err := fs.Glob(chart.FS(), "templates/*/_*errors.tpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "templates/_scaling_errors.tpl", "templates/_labels.tpl") {
		text, err := fs.ReadFile(chart.FS(), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range sentence.FindAllStringSubmatch(string(text), -1) {
			if said := longest(action.Split(found[1], -1)); !strings.Contains(seen, said) {
				t.Errorf("%s: no case in testdata says %q", file, said)
			}
		}
	}
}

func longest(texts []string) string {
	long := ""
	for _, text := range texts {
		if len(text) > len(long) {
			long = text
		}
	}
	return long
}
