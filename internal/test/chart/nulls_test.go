package chart_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

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

// A section that is set to null, as an empty one in a file is, renders or is
// refused in a user's words; it never stops a template halfway.
func TestEmptySectionsRenderOrAreRefused(t *testing.T) {
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
			var faults promql.FieldErrors
			if err != nil && !errors.As(err, &faults) {
				t.Error(err)
			}
		})
	}
}

// sections are the paths of all maps that hold keys.
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
