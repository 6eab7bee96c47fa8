package chart_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

const everyPart = `
keda: {enabled: true}
prometheus: {enabled: true}
grafana: {enabled: true}
tempo: {enabled: true}
opentelemetry-collector: {enabled: true}
metricsCollector: {enabled: true}
`

// all reads every object of one kind, from every template.
func all[T any](t testing.TB, m render.Manifests, kind string) []T {
	t.Helper()
	return manifest.OfKind[T](t, m, kind)
}

func TestNetworkPolicyOff(t *testing.T) {
	if got := all[networkingv1.NetworkPolicy](t, manifest.Render(t, everyPart), "NetworkPolicy"); len(got) > 0 {
		t.Errorf("got %d, want none, since an upgrade would cut off clients", len(got))
	}
}

// Every pod has a network policy for its own ports.
func TestNetworkPolicyPorts(t *testing.T) {
	m := manifest.Render(t, everyPart+"networkPolicy: {enabled: true}")
	policies := all[networkingv1.NetworkPolicy](t, m, "NetworkPolicy")
	for _, d := range all[appsv1.Deployment](t, m, "Deployment") {
		pod := d.Spec.Template
		i := slices.IndexFunc(policies, func(p networkingv1.NetworkPolicy) bool {
			return labels.SelectorFromSet(p.Spec.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels))
		})
		if i < 0 {
			t.Errorf("Deployment %s: its pods have no policy", d.Name)
			continue
		}
		for _, rule := range policies[i].Spec.Ingress {
			for _, port := range rule.Ports {
				if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool {
					return port.Port.IntVal == c.ContainerPort
				}) {
					t.Errorf("Deployment %s: the policy opens port %s, which no container has", d.Name, port.Port)
				}
			}
		}
	}
}
