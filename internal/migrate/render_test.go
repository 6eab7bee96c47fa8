package migrate_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/migrate"
	"github.com/fastmachinelearning/supersonic/internal/render"
)

// withWorkLeft lists the cases whose result needs work by hand before it renders.
var withWorkLeft = []string{"left", "flux", "probes-left"}

// Migrated values render, and the objects keep the names and selectors of 0.3.1.
// Otherwise an upgrade would replace them or be rejected.
func TestMigratedObjects(t *testing.T) {
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range migrations(t) {
		if slices.Contains(withWorkLeft, m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			vals := migrate.Merged(migrated(t, m.layers, m.options))
			o := render.Options{Release: "sonic-server", Namespace: "cms"}
			docs, err := render.Documents(c, vals, o)
			if err != nil {
				t.Fatal(err)
			}
			got := selectors(t, docs)
			for name, component := range map[string]string{
				"Deployment/sonic-server-triton": "triton", "Service/sonic-server-triton": "triton",
				"Deployment/sonic-server-envoy": "envoy", "Service/sonic-server": "envoy",
			} {
				want := fmt.Sprintf("%s sonic-server supersonic", component)
				if diff := cmp.Diff(want, got[name]); diff != "" {
					t.Errorf("%s: selector (-want +got):\n%s", name, diff)
				}
			}
			if keda, _ := vals["keda"].(map[string]any); keda["enabled"] == true {
				if _, ok := got["ScaledObject/sonic-server-keda-so"]; !ok {
					t.Error("no ScaledObject sonic-server-keda-so")
				}
			}
		})
	}
}

// selectors returns the label values of each object's selector, in the order of the labels.
func selectors(t *testing.T, docs []render.Document) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, d := range docs {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Selector any }
		}
		if err := yaml.Unmarshal([]byte(d.Text), &object); err != nil {
			t.Fatal(err)
		}
		labels, _ := object.Spec.Selector.(map[string]any)
		if inner, ok := labels["matchLabels"].(map[string]any); ok {
			labels = inner
		}
		var words []string
		for _, key := range []string{"component", "instance", "name"} {
			if value, ok := labels["app.kubernetes.io/"+key]; ok {
				words = append(words, fmt.Sprint(value))
			}
		}
		all[object.Kind+"/"+object.Metadata.Name] = strings.Join(words, " ")
	}
	return all
}

// Nothing is left of a full copy of the defaults of 0.3.1.
func TestFullCopyOfDefaultsIsEmpty(t *testing.T) {
	text := migrate.DefaultsOf031()
	results := migrated(t, []migrate.Layer{{Name: "values.yaml", Text: text}}, migrate.Options{DropDefaults: true})
	var vals map[string]any
	if err := yaml.Unmarshal(results[0].Text, &vals); err != nil {
		t.Fatal(err)
	}
	if len(vals) > 0 {
		t.Errorf("left:\n%s", results[0].Text)
	}
}

// A default of 0.3.1 that overrides a lower layer's value is kept.
func TestDefaultsOverOtherLayers(t *testing.T) {
	results := migrated(t, []migrate.Layer{
		{Name: "base.yaml", Text: []byte("triton: {replicas: 5}\nenvoy: {replicas: 1}\n")},
		{Name: "site.yaml", Text: []byte("triton: {replicas: 1}\nenvoy: {replicas: 1}\n")},
	}, migrate.Options{DropDefaults: true})
	want := []string{"triton: {replicas: 5}\n", "triton: {replicas: 1}\n"}
	for i, r := range results {
		if !bytes.Equal([]byte(want[i]), r.Text) {
			t.Errorf("%s: want %q, got %q", r.Name, want[i], r.Text)
		}
	}
}
