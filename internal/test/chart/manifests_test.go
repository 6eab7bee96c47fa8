package chart_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
)

// inNamespace are the options that every case renders with, unless it says otherwise.
var inNamespace = render.Options{Release: "sonic", Namespace: "cms", Strict: true}

// loaded is the chart of this module.
func loaded(t testing.TB) *render.Loaded {
	t.Helper()
	c, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rendered renders values that are written as YAML.
func rendered(t testing.TB, values string) render.Manifests {
	t.Helper()
	m, err := render.Chart(loaded(t), parsed(t, values), inNamespace)
	if err != nil {
		t.Fatalf("values:\n%s\n%v", values, err)
	}
	return m
}

func parsed(t testing.TB, text string) map[string]any {
	t.Helper()
	vals := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &vals); err != nil {
		t.Fatal(err)
	}
	return vals
}

// object reads a manifest into a Kubernetes type; unknown fields are refused.
func object[T any](t testing.TB, m render.Manifests, path string) T {
	t.Helper()
	var o T
	text, ok := m[path]
	if !ok {
		t.Fatalf("%s is not rendered", path)
	}
	if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return o
}
