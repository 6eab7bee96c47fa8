package chart_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// noUsers leaves the users and groups of every pod to the platform, as OpenShift requires.
const noUsers = `
keda: {enabled: true}
triton: {podSecurityContext: &none {runAsUser: null, runAsGroup: null, fsGroup: null}}
envoy: {podSecurityContext: *none}
test: {podSecurityContext: *none}
metricsCollector: {enabled: true, podSecurityContext: *none}
prometheus: {enabled: true, server: {podSecurityContext: *none}}
grafana: {enabled: true, podSecurityContext: *none}
tempo: {enabled: true, podSecurityContext: *none}
opentelemetry-collector: {enabled: true, podSecurityContext: *none}
`

// If the platform assigns users, no pod sets one, and each keeps the rest of its security context.
func TestUsersLeftToThePlatform(t *testing.T) {
	m := manifest.Render(t, noUsers)
	pods := map[string]corev1.PodSpec{}
	for _, d := range all[appsv1.Deployment](t, m, "Deployment") {
		pods[d.Name] = d.Spec.Template.Spec
	}
	for _, p := range all[corev1.Pod](t, m, "Pod") {
		pods[p.Name] = p.Spec
	}
	if len(pods) != 8 {
		t.Errorf("%d pods are rendered, want 8", len(pods))
	}
	for name, pod := range pods {
		got := pod.SecurityContext
		if got == nil || got.RunAsUser != nil || got.RunAsGroup != nil || got.FSGroup != nil {
			t.Errorf("%s: securityContext is %v, want no user and no group", name, got)
			continue
		}
		if name == "sonic-triton" {
			continue // whose root file system is writable
		}
		for _, c := range pod.Containers {
			s := c.SecurityContext
			if !*got.RunAsNonRoot || got.SeccompProfile == nil || s == nil || s.Capabilities == nil ||
				!*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation {
				t.Errorf("%s: container %s has %v in %v, want the restricted standard", name, c.Name, s, got)
			}
		}
	}
}

// clusterDomain is used in every host name.
func TestClusterDomain(t *testing.T) {
	m := manifest.Render(t, everythingOn+"clusterDomain: k8s.example\n")
	own := 0
	for path, text := range m {
		if strings.Contains(text, "cluster.local") {
			t.Errorf("%s: cluster.local is in it", path)
		}
		own += strings.Count(text, ".svc.k8s.example")
	}
	if own < 5 {
		t.Errorf("the domain is there %d times", own)
	}
}

// On a kernel without IPv6, Envoy must not listen on it.
func TestIPv4Alone(t *testing.T) {
	m := manifest.Render(t, everythingOn+"ipv6: false\n")
	for _, path := range []string{"envoy/configmap.yaml", "collector/collector.yaml"} {
		if text := m[path]; strings.Contains(text, `"::"`) || !strings.Contains(text, "address: 0.0.0.0") {
			t.Errorf("%s: does not listen on IPv4 alone", path)
		}
	}
}

// Extra volumes of Envoy are mounted, and one at /tmp replaces the chart's.
func TestEnvoyExtras(t *testing.T) {
	d := manifest.Object[appsv1.Deployment](t, manifest.Render(t, `
envoy:
  external_config: {load_from_configmap: true, configmap_name: mine}
  env: [{name: SITE, value: hep}]
  extraVolumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}]
  extraVolumeMounts: [{name: scratch, mountPath: /tmp}]
`), "envoy/deployment.yaml")
	c := d.Spec.Template.Spec.Containers[0]
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "SITE" && e.Value == "hep" }) {
		t.Errorf("env is %v", c.Env)
	}
	var tmp []string
	for _, mount := range c.VolumeMounts {
		if mount.MountPath == "/tmp" {
			tmp = append(tmp, mount.Name)
		}
	}
	if !slices.Equal(tmp, []string{"scratch"}) {
		t.Errorf("at /tmp are %v, want the user's volume alone", tmp)
	}
	if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "scratch" }) {
		t.Error("the pod has no volume scratch")
	}
}

// With an operator's Prometheus and the embedded one, each scrapes every pod once, and only one has the alerts.
func TestOperatorBesideEmbedded(t *testing.T) {
	m := manifest.Render(t, "prometheus: {enabled: true, podMonitors: {enabled: true, labels: {release: stack}}}")
	kinds := map[string]int{}
	for _, o := range manifest.Objects(t, m, "prometheus/podmonitors.yaml") {
		kinds[o["kind"].(string)]++
	}
	if kinds["PodMonitor"] != 2 || kinds["PrometheusRule"] != 0 {
		t.Errorf("an operator gets %v, want two PodMonitors and no rules", kinds)
	}
	config := manifest.File(t, m, prometheusConfigMap, "prometheus.yml")
	for _, job := range []string{"job_name: sonic-triton", "job_name: sonic-envoy"} {
		if strings.Count(config, job) != 1 {
			t.Errorf("the embedded Prometheus has %d times %s", strings.Count(config, job), job)
		}
	}
}

// The pods of another release may query the embedded Prometheus.
func TestPolicyOfOtherReleases(t *testing.T) {
	for _, tc := range []struct {
		others string
		want   []string
	}{{"[sonic-b, sonic-c]", []string{"sonic-b", "sonic-c"}}, {`["*"]`, nil}} {
		m := manifest.Render(t, "{networkPolicy: {enabled: true}, prometheus: {enabled: true, server: {otherReleases: "+tc.others+"}}}")
		var got [][]string
		for _, p := range all[networkingv1.NetworkPolicy](t, m, "NetworkPolicy") {
			for _, rule := range p.Spec.Ingress {
				for _, peer := range rule.From {
					if s := peer.PodSelector; p.Name == "sonic-prometheus" && s != nil && s.MatchLabels["app.kubernetes.io/component"] == "" {
						var values []string
						for _, e := range s.MatchExpressions {
							values = e.Values
						}
						got = append(got, values)
					}
				}
			}
		}
		if len(got) != 1 || !slices.Equal(got[0], tc.want) {
			t.Errorf("%s: the other releases that may query are %v, want %v", tc.others, got, tc.want)
		}
	}
}
