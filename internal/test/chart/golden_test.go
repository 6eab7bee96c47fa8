package chart_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/golden"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

const goldenDir = "../../../golden"

func TestValuesFilesRenderToTheirGoldens(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		got := c.manifests(t)
		s := c.scaling(t)
		for _, named := range promql.Queries() {
			if named.Threshold == nil {
				continue
			}
			q, err := s.Query(named)
			if err != nil {
				t.Fatal(err)
			}
			got[named.Name+".promql"] = q.Pretty() + "\n"
		}
		for path, text := range got {
			got[path] = abridged(c.name, path, text)
		}
		golden.CompareDir(t, filepath.Join(goldenDir, c.name), got)
	})
}

func TestEveryGoldenFolderHasItsValuesFile(t *testing.T) {
	known := map[string]bool{}
	for _, c := range cases(t) {
		known[c.name] = true
	}
	for _, name := range golden.Dirs(t, goldenDir, known) {
		if !known[name] {
			t.Errorf("golden/%s: no values/values-%s.yaml", name, name)
		}
	}
}

func TestGoldensAreTheSameOnEveryRun(t *testing.T) {
	c := cases(t)[0]
	first := c.manifests(t)
	for range 5 {
		again, err := render.Chart(manifest.Chart(t), c.vals, c.options())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range first {
			if again[name] != text {
				t.Fatalf("%s: renders differently on a second run", name)
			}
		}
	}
}

func TestEveryTemplateIsRenderedBySomeValuesFile(t *testing.T) {
	rendered := map[string]bool{}
	for _, c := range cases(t) {
		for name := range c.manifests(t) {
			rendered["templates/"+name] = true
		}
	}
	var missing []string
	for _, template := range manifest.Chart(t).Templates {
		base := filepath.Base(template.Name)
		if base[0] != '_' && base != "faults.yaml" && !rendered[template.Name] {
			missing = append(missing, template.Name)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("no values file renders %q: add one that does", missing)
	}
}
