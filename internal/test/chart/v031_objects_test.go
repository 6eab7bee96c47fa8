package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// An upgrade from 0.3.1 is refused where a selector changes under a name, and makes
// a second object where a name changes. S stands for the instance.
var objectsOf031 = []struct {
	path      string // Kind/name
	component string // of its selector, where it has one
}{
	{"Deployment/S-triton", "triton"},
	{"Service/S-triton", "triton"},
	{"ConfigMap/S-envoy-config", ""},
	{"ConfigMap/S-lua-config", ""},
	{"Deployment/S-envoy", "envoy"},
	{"Service/S", "envoy"},
	{"Ingress/S-ingress-grpc", ""},
	{"ScaledObject/S-keda-so", ""},
	{"ConfigMap/S-prometheus-config", ""},
	{"Role/S-prometheus-role", ""},
	{"RoleBinding/S-prometheus-role-binding", ""},
	{"ServiceAccount/S-prometheus-sa", ""},
	{"ConfigMap/S-grafana-default-dashboard", ""},
	{"ConfigMap/S-metrics-collector-config", ""},
	{"Deployment/S-metrics-collector", "metrics-collector"},
	{"Service/S-metrics-collector", "metrics-collector"},
	{"Ingress/S-metrics-collector-ingress", ""},
	// Services that the subcharts made, whose names stand in other people's files.
	{"Service/S-prometheus-server", "prometheus"},
	{"Service/S-grafana", "grafana"},
	{"Service/S-tempo", "tempo"},
	{"Service/S-opentelemetry-collector", "opentelemetry-collector"},
}

func TestObjectsOf031KeepTheirNamesAndSelectors(t *testing.T) {
	values := manifest.Values(t, `
envoy: {ingress: {enabled: true, hostName: a.example.org}, rate_limiter: {prometheus_based: {enabled: true}}}
keda: {enabled: true}
prometheus: {enabled: true}
grafana: {enabled: true}
tempo: {enabled: true}
opentelemetry-collector: {enabled: true}
metricsCollector: {enabled: true, ingress: {enabled: true, hostName: b.example.org}}
`)
	for name, override := range map[string]string{"release": "", "name-override": "other"} {
		t.Run(name, func(t *testing.T) {
			instance := manifest.Options.Release
			if override != "" {
				instance = override
			}
			values["nameOverride"] = override
			docs, err := render.Documents(manifest.Chart(t), values, manifest.Options)
			if err != nil {
				t.Fatal(err)
			}
			objects := byKindAndName(t, docs)
			for _, o := range objectsOf031 {
				checkObject(t, objects, strings.Replace(o.path, "/S", "/"+instance, 1), o.component, instance)
			}
		})
	}
}

func checkObject(t *testing.T, objects map[string]any, path, component, instance string) {
	t.Helper()
	if _, there := field(objects, path); !there {
		t.Errorf("%s: not rendered", path)
		return
	}
	kind, _, _ := strings.Cut(path, "/")
	selector := map[string]string{"Deployment": "/spec/selector/matchLabels", "Service": "/spec/selector"}[kind]
	if selector == "" {
		return
	}
	got, _ := field(objects, path+selector)
	want := map[string]any{
		"app.kubernetes.io/name":      "supersonic",
		"app.kubernetes.io/instance":  instance,
		"app.kubernetes.io/component": component,
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("%s: selector mismatch (-want +got):\n%s", path, diff)
	}
}
