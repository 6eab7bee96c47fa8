package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func envoyPod(t testing.TB, m render.Manifests) corev1.PodSpec {
	t.Helper()
	return manifest.Object[appsv1.Deployment](t, m, "envoy/deployment.yaml").Spec.Template.Spec
}

func envoyService(t testing.TB, m render.Manifests) corev1.Service {
	t.Helper()
	return manifest.Object[corev1.Service](t, m, "envoy/service.yaml")
}

// Envoy's pod meets the Pod Security Standard "restricted", and has a read-only root file system and no token.
func TestEnvoyPodRestricted(t *testing.T) {
	pod := envoyPod(t, manifest.Render(t, ""))
	c := pod.Containers[0]
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("a token is mounted")
	}
	if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod's security context: %+v", s)
	}
	s := c.SecurityContext
	if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container's security context: %+v", s)
	}
	if !slices.Equal(c.Command, []string{"envoy"}) || c.Lifecycle.PreStop.Exec != nil || c.ReadinessProbe.Exec != nil {
		t.Error("the container needs a shell")
	}
	for _, m := range c.VolumeMounts {
		if !m.ReadOnly {
			t.Errorf("%s is mounted to be written to", m.MountPath)
		}
	}
}

func podTemplate(t testing.TB, values string) corev1.PodTemplateSpec {
	t.Helper()
	return manifest.Object[appsv1.Deployment](t, manifest.Render(t, values), "envoy/deployment.yaml").Spec.Template
}

// Envoy reads its configuration once, but reloads the gate's files, so a new threshold must not restart it.
func TestEnvoyRestarts(t *testing.T) {
	const gated = "prometheus: {enabled: true}\nenvoy: {rate_limiter: {prometheus_based: {enabled: true, ramp: %}}}\n"
	base := strings.Replace(gated, "%", "0", 1)
	for _, c := range []struct {
		name, values string
		restarts     bool
	}{
		{"same", base, false},
		{"gate-ramp", strings.Replace(gated, "%", "1", 1), false},
		{"gate-threshold", base + "serverAdmissionThreshold: 5\n", false},
		{"gate-query", base + "serverLoadRateInterval: 2m\n", false},
		{"gate-timeout", strings.Replace(base, "ramp", "timeoutSeconds: 0.5, ramp", 1), false},
		{"gate-cache", strings.Replace(base, "ramp", "cacheSeconds: 5, unknownLoad: last, ramp", 1), false},
		{"gate-methods", strings.Replace(base, "ramp", "methods: [/inference.GRPCInferenceService/ModelInfer], ramp", 1), false},
		{"triton-resources", base + "triton: {resources: {limits: {cpu: 3}}}\n", false},
		{"envoy-replicas", strings.Replace(base, "rate_limiter", "replicas: 3, topologySpreadConstraints: [], rate_limiter", 1), false},
		{"envoy-limit", strings.Replace(base, "rate_limiter", "maxConnections: 5, rate_limiter", 1), true},
		{
			"prometheus-address",
			"prometheus: {external: {enabled: true, url: prom.example.org}}\n" + strings.TrimPrefix(base, "prometheus: {enabled: true}\n"), true,
		},
		{"envoy-image", strings.Replace(base, "rate_limiter", "image: mine, rate_limiter", 1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			diff := cmp.Diff(podTemplate(t, base), podTemplate(t, c.values))
			if (diff != "") != c.restarts {
				t.Errorf("pods restart: %v, want %v\n%s", diff != "", c.restarts, diff)
			}
		})
	}
}

func TestEnvoyReplicas(t *testing.T) {
	for _, c := range []struct {
		name, values   string
		replicas       int32
		budget, spread bool
	}{
		{"one", "", 1, false, false},
		{"none", "envoy: {replicas: 0}", 0, false, false},
		{"three", "envoy: {replicas: 3}", 3, true, true},
		{"three-unprotected", "envoy: {replicas: 3, podDisruptionBudget: {enabled: false}, topologySpreadConstraints: []}", 3, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manifest.Render(t, c.values)
			if got := *manifest.Object[appsv1.Deployment](t, m, "envoy/deployment.yaml").Spec.Replicas; got != c.replicas {
				t.Errorf("replicas: %d, want %d", got, c.replicas)
			}
			if _, got := m["envoy/poddisruptionbudget.yaml"]; got != c.budget {
				t.Errorf("disruption budget: %v, want %v", got, c.budget)
			}
			if got := len(envoyPod(t, m).TopologySpreadConstraints) > 0; got != c.spread {
				t.Errorf("spread: %v, want %v", got, c.spread)
			}
		})
	}
	m := manifest.Render(t, "envoy: {replicas: 4, podDisruptionBudget: {maxUnavailable: 25%}}")
	budget := manifest.Object[policyv1.PodDisruptionBudget](t, m, "envoy/poddisruptionbudget.yaml")
	if got := budget.Spec.MaxUnavailable.String(); got != "25%" {
		t.Errorf("maxUnavailable: %s, want 25%%", got)
	}
}

// Envoy gets envoy.args, which 0.3.1 ignored.
func TestEnvoyArguments(t *testing.T) {
	for _, c := range []struct {
		name, values string
		want         []string // after the chart's
	}{
		{"default", "", []string{"--concurrency", "8", "--log-level", "info"}},
		{
			"of-earlier-values", "envoy: {args: [--config-path, /etc/envoy/envoy.yaml, --log-level, warn, --log-path, /dev/stdout]}",
			[]string{"--concurrency", "8", "--log-level", "warn", "--log-path", "/dev/stdout"},
		},
		{
			"two-words-in-one", `envoy: {args: ["--config-path /etc/envoy/envoy.yaml", "--log-format [%l] %v"]}`,
			[]string{"--concurrency", "8", "--log-format", "[%l] %v"},
		},
		{"own-concurrency", "envoy: {args: [--concurrency, '2']}", []string{"--concurrency", "2"}},
		{"part-of-a-cpu", "envoy: {args: [], resources: {limits: {cpu: 1500m}}}", []string{"--concurrency", "2"}},
		{"no-limit", "envoy: {args: [], resources: {limits: {cpu: null}}}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := envoyPod(t, manifest.Render(t, c.values)).Containers[0].Args
			got := args[slices.Index(args, "--disable-hot-restart")+1:]
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// The grace period outlasts the drain.
func TestEnvoyGracePeriod(t *testing.T) {
	for _, c := range []struct {
		values string
		want   int64
	}{
		{"", 75}, {"envoy: {drain: {seconds: 300}}", 315}, {"envoy: {terminationGracePeriodSeconds: 90}", 90},
	} {
		if got := *envoyPod(t, manifest.Render(t, c.values)).TerminationGracePeriodSeconds; got != c.want {
			t.Errorf("grace period with %q: %d, want %d", c.values, got, c.want)
		}
	}
}

func TestIngress(t *testing.T) {
	for _, c := range []struct {
		name, values, host, secret string
		tls                        bool
		port                       int32
	}{
		{"default-tls", "envoy: {ingress: {enabled: true, hostName: a.example.org}}", "a.example.org", "", true, 8001},
		{
			"own-certificate", "envoy: {ingress: {enabled: true, hostName: a.example.org, tls: {secretName: cert}}}", "a.example.org", "cert", true,
			8001,
		},
		{"no-tls", "envoy: {ingress: {enabled: true, hostName: a.example.org, tls: {enabled: false}}}", "a.example.org", "", false, 8001},
		{"every-host", `envoy: {ingress: {enabled: true, hostName: "*"}}`, "", "", true, 8001},
		{
			"other-port", "envoy: {ingress: {enabled: true, hostName: a.example.org}, service: {ports: [{name: grpc, port: 80, targetPort: 8001}]}}",
			"a.example.org", "", true, 80,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manifest.Render(t, c.values)
			got := manifest.Object[networkingv1.Ingress](t, m, "envoy/ingress.yaml")
			rule := got.Spec.Rules[0]
			backend := rule.HTTP.Paths[0].Backend.Service
			if got.Name != "sonic-ingress-grpc" || rule.Host != c.host || backend.Name != envoyService(t, m).Name || backend.Port.Number != c.port {
				t.Errorf("Ingress %s: host %q to %s:%d", got.Name, rule.Host, backend.Name, backend.Port.Number)
			}
			if (len(got.Spec.TLS) > 0) != c.tls || c.tls && got.Spec.TLS[0].SecretName != c.secret {
				t.Errorf("TLS: %+v", got.Spec.TLS)
			}
			if c.tls && c.host != "" && !slices.Equal(got.Spec.TLS[0].Hosts, []string{c.host}) {
				t.Errorf("hosts of TLS: %v", got.Spec.TLS[0].Hosts)
			}
		})
	}
}

func TestLoadBalancerService(t *testing.T) {
	s := envoyService(t, manifest.Render(t, `
envoy:
  service:
    type: LoadBalancer
    labels: {team: physics}
    annotations: {metallb.universe.tf/address-pool: private}
    loadBalancerClass: example.org/lb
    loadBalancerIP: 192.0.2.7
    loadBalancerSourceRanges: [192.0.2.0/24]
    externalTrafficPolicy: Local
    ports: [{name: grpc, port: 8001, targetPort: 8001, nodePort: 30001, appProtocol: grpc}]
`))
	if s.Labels["team"] != "physics" || s.Annotations["metallb.universe.tf/address-pool"] != "private" {
		t.Errorf("labels %v, annotations %v", s.Labels, s.Annotations)
	}
	want := corev1.ServiceSpec{
		Type: "LoadBalancer", LoadBalancerIP: "192.0.2.7", LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
		ExternalTrafficPolicy: "Local", LoadBalancerClass: new(string), Selector: s.Spec.Selector, Ports: s.Spec.Ports,
	}
	*want.LoadBalancerClass = "example.org/lb"
	if diff := cmp.Diff(want, s.Spec); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}
	if p := s.Spec.Ports[0]; p.NodePort != 30001 || p.AppProtocol == nil || *p.AppProtocol != "grpc" {
		t.Errorf("port: got %v, want node port 30001 and application protocol grpc", p)
	}
}

// Helm prints integers of a values file from 1,000,000 on in exponent form, which Envoy and Kubernetes reject.
func TestLargeNumbers(t *testing.T) {
	m := manifest.Render(t, `
envoy:
  maxConnections: 1000000
  bufferLimitBytes: 16777216
  http2: {maxConcurrentStreams: 1000000, streamWindowBytes: 16777216, connectionWindowBytes: 33554432}
  circuitBreakers: {maxConnections: 1000000, maxPendingRequests: 1000000, maxRequests: 1000000, maxRetries: 1000000}
  rate_limiter: {listener_level: {enabled: true, max_tokens: 1000000, tokens_per_fill: 1000000}}
  drain: {seconds: 1000000}
`)
	for name, text := range m {
		if strings.HasPrefix(name, "envoy/") && strings.Contains(text, "e+0") {
			t.Errorf("%s has a number in exponent form", name)
		}
	}
}

// Envoy's admin interface, which can stop it, is reachable only within the pod, and so is the drain hook.
func TestAdminHidden(t *testing.T) {
	old := `envoy: {service: {ports: [{name: grpc, port: 8001, targetPort: 8001}, {name: admin, port: 9901, targetPort: 9911}]}}`
	for name, values := range map[string]string{"default": "", "earlier-values": old} {
		t.Run(name, func(t *testing.T) {
			m := manifest.Render(t, values)
			if config := m["envoy/configmap.yaml"]; !strings.Contains(config, "admin:\n      address: {socket_address: {address: 127.0.0.1,") {
				t.Errorf("the admin interface is not on loopback:\n%.400s", config)
			}
			var published []string
			for _, port := range envoyService(t, m).Spec.Ports {
				published = append(published, port.Name)
			}
			if len(published) != 1 || published[0] != "grpc" {
				t.Errorf("the Service publishes %q, want grpc alone", published)
			}
		})
	}
}

// The stats port is that of the entry admin in values for 0.3.1.
func TestStatsPortOf031(t *testing.T) {
	m := manifest.Render(t, `envoy: {service: {ports: [{name: grpc, port: 80, targetPort: 8005}, {name: admin, port: 1, targetPort: 9911}]}}`)
	got := map[string]int32{}
	for _, port := range envoyPod(t, m).Containers[0].Ports {
		got[port.Name] = port.ContainerPort
	}
	if got["stats"] != 9911 || got["grpc"] != 8005 {
		t.Errorf("container ports: %v, want stats 9911 and grpc 8005", got)
	}
	port := envoyService(t, m).Spec.Ports[0]
	if port.Port != 80 || port.TargetPort.IntValue() != 8005 {
		t.Errorf("Service port: %d to %s, want 80 to 8005", port.Port, port.TargetPort.String())
	}
}

// With envoy.replicas null, another autoscaler decides, and several pods are assumed.
func TestEnvoyWithoutReplicas(t *testing.T) {
	m := manifest.Render(t, "envoy: {replicas: null}")
	d := manifest.Object[appsv1.Deployment](t, m, "envoy/deployment.yaml")
	if d.Spec.Replicas != nil || len(d.Spec.Template.Spec.TopologySpreadConstraints) == 0 {
		t.Errorf("got %v replicas, spread %v; want none, spread over nodes", d.Spec.Replicas, d.Spec.Template.Spec.TopologySpreadConstraints)
	}
	if _, ok := m["envoy/poddisruptionbudget.yaml"]; !ok {
		t.Error("there is no disruption budget")
	}
}
