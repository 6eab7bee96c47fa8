package chart_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// identity returns what identifies an object in a cluster.
func identity(t testing.TB, text string) string {
	t.Helper()
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatal(err)
	}
	return head.Kind + " " + head.Metadata.Namespace + "/" + head.Metadata.Name
}

// Manifests are valid for Kubernetes, KEDA and the Prometheus operator.
func TestSchemas(t *testing.T) {
	for _, version := range []string{"1.30", "1.34"} {
		validator := manifest.For(t, version)
		t.Run(version, func(t *testing.T) {
			forEachValuesFile(t, func(t *testing.T, c valuesCase) {
				o := c.options()
				o.KubeVersion = version
				m, err := render.Chart(manifest.Chart(t), c.vals, o)
				if c.name == "models-image" && version == "1.30" { // which has no such volumes
					if err == nil {
						t.Error("want an error")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				delete(m, "NOTES.txt")
				for _, err := range validator.Check(m) {
					t.Error(err)
				}
			})
		})
	}
}

// Each file has strings that YAML would read as a number, a boolean or null without quotes.
func TestStringsStayStrings(t *testing.T) {
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
