package render_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
)

var inNamespace = render.Options{Release: "sonic", Namespace: "cms", Strict: true}

func parsed(t testing.TB, text string) map[string]any {
	t.Helper()
	vals := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &vals); err != nil {
		t.Fatal(err)
	}
	return vals
}

func TestDefaultsRenderStrictly(t *testing.T) {
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	m, err := render.Chart(c, nil, inNamespace)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Notes(), "supersonic") {
		t.Errorf("NOTES names no supersonic:\n%s", m.Notes())
	}
}

func TestDefineGivesTheTextOfOneDefine(t *testing.T) {
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	got, err := render.Define(c, nil, render.Options{Release: "sonic", Namespace: "cms"}, "supersonic.names.instance")
	if err != nil {
		t.Fatal(err)
	}
	if got != "sonic" {
		t.Errorf("got %q, want sonic", got)
	}
}
