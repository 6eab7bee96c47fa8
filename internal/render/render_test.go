package render_test

import (
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func TestDefaults(t *testing.T) {
	m, err := render.Chart(manifest.Chart(t), nil, manifest.Options)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Notes(), "supersonic") {
		t.Errorf("NOTES names no supersonic:\n%s", m.Notes())
	}
}

func TestDefine(t *testing.T) {
	got, err := render.Define(manifest.Chart(t), nil, render.Options{Release: "sonic", Namespace: "cms"}, "supersonic.names.instance")
	if err != nil {
		t.Fatal(err)
	}
	if got != "sonic" {
		t.Errorf("got %q, want sonic", got)
	}
}

// A chart of one's own need not have warnings, and one render gives all of ours.
func TestAll(t *testing.T) {
	r, err := render.All(chartOf(t, `{}`), nil, manifest.Options)
	if err != nil || len(r.Documents) != 1 || len(r.Warnings) > 0 {
		t.Errorf("another chart: got %v, %v", r, err)
	}
	warned := manifest.Values(t, "{serverLoadThreshold: 100, prometheus: {enabled: true}}")
	r, err = render.All(manifest.Chart(t), warned, manifest.Options)
	if err != nil || len(r.Documents) < 3 || !r.Warnings.Has("serverLoadThreshold") || r.Notes == "" {
		t.Errorf("ours: got %d objects, warnings %v, notes %q, %v", len(r.Documents), r.Warnings, r.Notes, err)
	}
	for _, d := range r.Documents {
		if d.Source == "supersonic/templates/define" || d.Source == "supersonic/templates/NOTES.txt" {
			t.Errorf("%s is among the objects", d.Source)
		}
	}
}
