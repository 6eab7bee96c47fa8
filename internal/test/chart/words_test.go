package chart_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// The texts of each file are words that YAML reads as a number, as true or as null.
func TestTextsStayTexts(t *testing.T) {
	validator := manifest.For(t, "1.34")
	files, err := filepath.Glob("testdata/words/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		for _, namespace := range []string{"12", "true", "1e3"} {
			t.Run(filepath.Base(file)+"-in-"+namespace, func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				o := manifest.Options
				o.Namespace = namespace
				m, err := render.Chart(manifest.Chart(t), manifest.Values(t, string(text)), o)
				if err != nil {
					t.Fatal(err)
				}
				delete(m, "NOTES.txt")
				for _, err := range validator.Check(m) {
					t.Error(err)
				}
			})
		}
	}
}
