package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// observing holds values that enable all monitoring of a release, by name.
var observing = map[string]string{
	"everything": watched + `
grafana: {enabled: true, ingress: {enabled: true, hosts: [grafana.example.org], path: /grafana}}
metricsCollector: {enabled: true, ingress: {enabled: true, hostName: metrics.example.org}}
imagePullSecrets: [registry]
`,
	"kept-on-volumes": `
prometheus:
  enabled: true
  server:
    persistentVolume: {enabled: true, storageClass: fast, size: 1000000000000}
    retention: 1y
    ingress: {enabled: true, hostName: prometheus.example.org, tls: [], ingressClassName: public, annotations: {a: b}}
    service: {servicePort: 80}
    nodeSelector: {zone: a}
    tolerations: [{key: monitoring, operator: Exists}]
    alertmanagers: [{static_configs: [{targets: ["alertmanager:9093"]}]}]
grafana:
  enabled: true
  admin: {existingSecret: grafana-admin}
  persistence: {enabled: true, existingClaim: grafana}
`,
	"external": `
keda: {enabled: true}
grafana: {enabled: true, ingress: {enabled: true, hostName: grafana.example.org, tls: [{secretName: grafana-tls}]}}
metricsCollector: {enabled: true, service: {type: LoadBalancer, port: 80}}
opentelemetry-collector: {enabled: true, ports: {metrics: {enabled: false}}, config: {exporters: {otlp: {endpoint: "http://tempo:4317"}}}}
prometheus:
  external:
    enabled: true
    url: metrics.example.org
    tls: {caConfigMap: {name: authorities}}
  podMonitors: {enabled: true, labels: {release: stack}, interval: 15s, scrapeTimeout: 10s}
`,
	"dashboards-alone": `
grafana: {dashboardConfigMap: {enabled: true, labels: {grafana_dashboard: "1"}, annotations: {folder: Inference}}}
`,
}

func TestObservingSchemas(t *testing.T) {
	for _, kubernetes := range []string{"1.30", "1.34"} {
		v := manifest.For(t, kubernetes)
		for name, values := range observing {
			t.Run(kubernetes+"/"+name, func(t *testing.T) {
				m := manifest.Render(t, values)
				delete(m, "NOTES.txt")
				for _, err := range v.Check(m) {
					t.Error(err)
				}
			})
		}
	}
}

// TestObservingPods checks that each pod meets the Pod Security Standard "restricted", and has what it needs.
func TestObservingPods(t *testing.T) {
	seen := map[string]bool{}
	for name, values := range observing {
		for path, text := range manifest.Render(t, values) {
			for part := range strings.SplitSeq(text, "\n---\n") {
				if !strings.Contains(part, "\nkind: Deployment\n") || strings.HasPrefix(path, "triton/") || strings.HasPrefix(path, "envoy/") {
					continue
				}
				var d appsv1.Deployment
				if err := yaml.Unmarshal([]byte(part), &d); err != nil {
					t.Fatal(err)
				}
				seen[d.Name] = true
				for _, what := range unrestricted(d.Spec.Template.Spec) {
					t.Errorf("%s: Deployment %s: %s", name, d.Name, what)
				}
				if got := d.Spec.Template.Spec.AutomountServiceAccountToken; got == nil || *got != (d.Name == "sonic-prometheus") {
					t.Errorf("%s: Deployment %s: automountServiceAccountToken is not what it needs", name, d.Name)
				}
			}
		}
	}
	for _, want := range []string{
		"sonic-prometheus", "sonic-grafana-server", "sonic-tempo", "sonic-otel-collector", "sonic-metrics-collector",
	} {
		if !seen[want] {
			t.Errorf("no Deployment %s is rendered", want)
		}
	}
}

// unrestricted returns how a pod violates the standard "restricted", or depends on defaults that could.
func unrestricted(pod corev1.PodSpec) []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	s := pod.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 {
		say("may run as root")
	} else if s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		say("has no seccomp profile")
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.Capabilities == nil || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) > 0 {
			say("container %s keeps rights: %v", c.Name, s)
		}
		if c.ReadinessProbe == nil || c.LivenessProbe == nil {
			say("container %s is not probed", c.Name)
		}
		if !strings.Contains(c.Image, ":") || strings.HasSuffix(c.Image, ":latest") {
			say("image %s is not pinned", c.Image)
		}
		if len(c.Resources.Requests) < 2 || len(c.Resources.Limits) < 2 {
			say("container %s has resources %v", c.Name, c.Resources)
		}
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil || v.NFS != nil {
			say("volume %s is not allowed", v.Name)
		}
	}
	return found
}

// TestSubchartNames checks that no Deployment has the name of one of 0.3.1 with another selector, which can't be changed.
// Services and claims keep their names.
func TestSubchartNames(t *testing.T) {
	kinds := map[string][]string{}
	m := manifest.Render(t, observing["everything"])
	for path := range m {
		if path == "NOTES.txt" {
			continue
		}
		for _, o := range manifest.Objects(t, m, path) {
			if meta, ok := o["metadata"].(map[string]any); ok {
				kinds[fmt.Sprint(o["kind"])] = append(kinds[fmt.Sprint(o["kind"])], fmt.Sprint(meta["name"]))
			}
		}
	}
	for _, name := range []string{"sonic-prometheus-server", "sonic-grafana", "sonic-opentelemetry-collector"} {
		if slices.Contains(kinds["Deployment"], name) {
			t.Errorf("a Deployment is named %s", name)
		}
		if !slices.Contains(kinds["Service"], name) {
			t.Errorf("no Service is named %s", name)
		}
	}
	for _, name := range []string{"sonic-tempo", "sonic-metrics-collector"} {
		if !slices.Contains(kinds["Service"], name) {
			t.Errorf("no Service is named %s", name)
		}
	}
}

// TestDocsNameEveryRule checks that docs/observing.md lists the rendered rules.
func TestDocsNameEveryRule(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../docs/observing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rulesOf(t, manifest.File(t, manifest.Render(t, watched), prometheusConfigMap, "rules.yml")) {
		if !strings.Contains(string(text), "| `"+r.Alert+r.Record+"` |") {
			t.Errorf("docs/observing.md has no line for %s%s", r.Alert, r.Record)
		}
	}
}

// An operator selects monitors by their labels, and pods by the monitor's selector and port.
func TestPodMonitors(t *testing.T) {
	values := manifest.Values(t, `
nameOverride: other
triton: {labels: {team: hep}}
prometheus:
  external: {enabled: true, url: metrics.example.org, scrapeInterval: 15s}
  podMonitors: {enabled: true, labels: {release: stack}}
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
