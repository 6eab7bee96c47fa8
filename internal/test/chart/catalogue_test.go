package chart_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// annotation parses an annotation for Artifact Hub, which is a YAML document. Unknown fields are errors.
func annotation[T any](t *testing.T, name string) T {
	t.Helper()
	var value T
	text := manifest.Chart(t).Metadata.Annotations["artifacthub.io/"+name]
	if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil || text == "" {
		t.Fatalf("Chart.yaml: artifacthub.io/%s: %v in %q", name, err, text)
	}
	return value
}

// Chart.yaml has the metadata that catalogues of charts show, in their format.
func TestChartMetadata(t *testing.T) {
	meta := manifest.Chart(t).Metadata
	icon, err := os.ReadFile("../../../docs/icon.svg")
	if err != nil {
		t.Fatal(err)
	}
	want := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(string(icon))))
	if meta.Icon != want {
		t.Errorf("icon: is not docs/icon.svg, want %s", want)
	}
	if len(meta.Keywords) == 0 || meta.Home == "" || len(meta.Sources) == 0 || len(meta.Maintainers) == 0 {
		t.Errorf("home, sources, keywords or maintainers are missing: %+v", meta)
	}
	// The categories of Artifact Hub.
	categories := []string{
		"ai-machine-learning", "database", "integration-delivery", "monitoring-logging", "networking", "security", "storage",
		"streaming-messaging", "skip-prediction",
	}
	if got := annotation[string](t, "category"); !slices.Contains(categories, got) {
		t.Errorf("category: must be one of %v, got %s", categories, got)
	}
	license, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if got := annotation[string](t, "license"); got != "Apache-2.0" || !strings.Contains(string(license), "Apache License") {
		t.Errorf("license: %s is not that of LICENSE", got)
	}
	links := annotation[[]struct{ Name, URL string }](t, "links")
	for _, r := range annotation[[]struct{ URL string }](t, "recommendations") {
		links = append(links, struct{ Name, URL string }{"recommendation", r.URL})
	}
	for _, link := range links {
		if link.Name == "" || !strings.HasPrefix(link.URL, "https://") {
			t.Errorf("links: %+v needs a name and an https address", link)
		}
	}
}

var imageOf = regexp.MustCompile(`(?m)^\s+(?:- )?image: "?([^"\s]+)"?$`)

// Artifact Hub scans the listed images, which must be those of every container of the chart.
func TestImagesInChartMetadata(t *testing.T) {
	want := map[string]bool{}
	for _, text := range manifest.Render(t, observing["everything"]+"\nkeda: {enabled: true}") {
		for _, image := range imageOf.FindAllStringSubmatch(text, -1) {
			want[image[1]] = true
		}
	}
	got := map[string]bool{}
	for _, i := range annotation[[]struct{ Name, Image string }](t, "images") {
		got[i.Image] = i.Name != ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("artifacthub.io/images (-rendered +annotated)\n%s", diff)
	}
}

// The listed changes are sentences from this version's section of the changelog.
func TestChartMetadataChanges(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+version(t)+" ")
	if !found {
		t.Fatalf("CHANGELOG.md has no section %s", version(t))
	}
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.ReplaceAll(section, "**", "")
	kinds := []string{"added", "changed", "deprecated", "removed", "fixed", "security"}
	for _, c := range annotation[[]struct{ Kind, Description string }](t, "changes") {
		if !slices.Contains(kinds, c.Kind) || !strings.Contains(section, c.Description) {
			t.Errorf("artifacthub.io/changes: %+v: must have a kind of %v and be a sentence of CHANGELOG.md, %s", c, kinds, version(t))
		}
	}
}

// version returns the version in Chart.yaml.
func version(t *testing.T) string {
	t.Helper()
	var meta struct{ Version string }
	text, err := os.ReadFile(filepath.Join(chartDir, "Chart.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &meta)
	}
	if err != nil {
		t.Fatal(err)
	}
	return meta.Version
}

// The chart's README lists every example with its first line.
func TestExamplesAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		name := filepath.Base(c.file)
		if row := fmt.Sprintf("| [%s](../values/%[1]s) | %s |\n", name, strings.TrimPrefix(first, "# ")); !strings.Contains(string(page), row) {
			t.Errorf("chart/README.md: needs the row\n%s", row)
		}
	})
}
