package chart_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/chart"
)

// sentence is a line of a define of faults or advice: a key, a colon, what is said.
var sentence = regexp.MustCompile(`(?m)^[a-z{][-\w.{}$ ]*: (.+)$`)

// action is what a template puts into a sentence.
var action = regexp.MustCompile(`\{\{.*?\}\}`)

func TestEverySentenceOfTheChartHasACase(t *testing.T) {
	seen := ""
	for _, kind := range []string{"faults", "advice"} {
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
	files, err := fs.Glob(chart.FS(), "templates/*/_faults.tpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "templates/_scaling_faults.tpl", "templates/_labels.tpl") {
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
