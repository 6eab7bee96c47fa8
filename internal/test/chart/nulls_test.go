package chart_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

const everythingOn = `
envoy: {ingress: {enabled: true, hostName: a.example.org}, rate_limiter: {prometheus_based: {enabled: true}}}
keda: {enabled: true}
prometheus: {enabled: true, server: {ingress: {enabled: true, hosts: [b.example.org]}}}
grafana: {enabled: true, ingress: {enabled: true, hosts: [c.example.org]}}
tempo: {enabled: true}
opentelemetry-collector: {enabled: true}
metricsCollector: {enabled: true, ingress: {enabled: true, hostName: d.example.org}}
`

// A section that is null, as an empty one in a file is, renders or is an error that
// names its key. It never makes a template fail.
func TestEmptySections(t *testing.T) {
	text, err := fs.ReadFile(chart.FS(), "values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sections(manifest.Values(t, string(text)), nil) {
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			t.Parallel()
			values := manifest.Values(t, everythingOn)
			empty(values, path)
			_, err := render.Chart(manifest.Chart(t), values, render.Options{Release: "sonic", Namespace: "cms"})
			var errs promql.FieldErrors
			if err != nil && !errors.As(err, &errs) {
				t.Error(err)
			}
		})
	}
}

// A key whose default is an empty map or list may have no value in a file, which
// means the same.
func TestNullDefaults(t *testing.T) {
	text, err := fs.ReadFile(chart.FS(), "values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := render.Options{Release: "sonic", Namespace: "cms"}
	want, err := render.Chart(manifest.Chart(t), manifest.Values(t, everythingOn), o)
	if err != nil {
		t.Fatal(err)
	}
	paths := emptyDefaults(manifest.Values(t, string(text)), nil)
	paths = slices.DeleteFunc(paths, func(path []string) bool { return path[len(path)-1] == "hosts" }) // which an Ingress needs
	if len(paths) == 0 {
		t.Fatal("no default is empty")
	}
	for _, path := range paths {
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			t.Parallel()
			values := manifest.Values(t, everythingOn)
			empty(values, path)
			got, err := render.Chart(manifest.Chart(t), values, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-empty +null):\n%s", diff)
			}
		})
	}
}

// emptyDefaults returns the paths of all empty maps and lists.
func emptyDefaults(values map[string]any, at []string) [][]string {
	var paths [][]string
	for key, value := range values {
		path := append(at[:len(at):len(at)], key)
		switch value := value.(type) {
		case []any:
			if len(value) == 0 {
				paths = append(paths, path)
			}
		case map[string]any:
			if len(value) == 0 {
				paths = append(paths, path)
			}
			paths = append(paths, emptyDefaults(value, path)...)
		}
	}
	return paths
}

// sections returns the paths of all maps with keys.
func sections(values map[string]any, at []string) [][]string {
	var paths [][]string
	for key, value := range values {
		if section, ok := value.(map[string]any); ok && len(section) > 0 {
			path := append(at[:len(at):len(at)], key)
			paths = append(append(paths, path), sections(section, path)...)
		}
	}
	return paths
}

func empty(values map[string]any, path []string) {
	last := len(path) - 1
	for _, key := range path[:last] {
		section, ok := values[key].(map[string]any)
		if !ok {
			section = map[string]any{}
			values[key] = section
		}
		values = section
	}
	values[path[last]] = nil
}
