package render_test

import (
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func TestDefaultsRenderStrictly(t *testing.T) {
	m, err := render.Chart(manifest.Chart(t), nil, manifest.Options)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Notes(), "supersonic") {
		t.Errorf("NOTES names no supersonic:\n%s", m.Notes())
	}
}

func TestDefineGivesTheTextOfOneDefine(t *testing.T) {
	got, err := render.Define(manifest.Chart(t), nil, render.Options{Release: "sonic", Namespace: "cms"}, "supersonic.names.instance")
	if err != nil {
		t.Fatal(err)
	}
	if got != "sonic" {
		t.Errorf("got %q, want sonic", got)
	}
}
