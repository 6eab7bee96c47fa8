package chart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// An operator picks monitors by their labels, and pods by the monitor's selector and port.
func TestEveryPodMonitorFindsThePodsOfOneDeployment(t *testing.T) {
	values := manifest.Values(t, `
nameOverride: other
triton: {labels: {team: hep}}
prometheus: {external: {enabled: true, url: metrics.example.org, scrapeInterval: 15s}, podMonitors: {enabled: true, labels: {release: stack}}}
`)
	docs, err := render.Documents(manifest.Chart(t), values, manifest.Options)
	if err != nil {
		t.Fatal(err)
	}
	objects := byKindAndName(t, docs)
	for _, component := range []string{"triton", "envoy"} {
		monitor := "PodMonitor/other-" + component + "-monitor"
		deployment := "Deployment/other-" + component
		if got, _ := field(objects, monitor+"/metadata/labels/release"); got != "stack" {
			t.Errorf("%s: label release is %v, want stack", monitor, got)
		}
		selector, _ := field(objects, monitor+"/spec/selector/matchLabels")
		pods, _ := field(objects, deployment+"/spec/selector/matchLabels")
		if diff := cmp.Diff(pods, selector); diff != "" || selector == nil {
			t.Errorf("%s: selects other pods than %s (-want +got):\n%s", monitor, deployment, diff)
		}
		port, _ := field(objects, monitor+"/spec/podMetricsEndpoints/0/port")
		name, _ := port.(string)
		if _, there := field(objects, deployment+"/spec/template/spec/containers/0/ports/[name="+name+"]"); !there {
			t.Errorf("%s: port %v is none of %s", monitor, port, deployment)
		}
	}
}
