package chart_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// outsiders are pods of other namespaces, and addresses outside the cluster.
var outsiders = []party{
	{name: "stranger", namespace: "elsewhere", ports: []string{"80"}},
	{name: "neighbour", namespace: manifest.Options.Namespace, ports: []string{"80"}},
	{name: "client", namespace: "clients"},
	{name: "scraper", namespace: "monitoring", ports: []string{"9090"}},
	{name: "keda", namespace: "keda"},
	{name: "viewer", namespace: "ingress"},
	{name: "dns", namespace: "kube-system", ports: []string{"53/UDP", "53", "5353/UDP", "8080"}},
	{name: "api", address: "192.0.2.1", ports: []string{"6443", "22"}},
	{name: "issuer", address: "192.0.2.2", ports: []string{"8443"}},
	{name: "store", address: "192.0.2.3", ports: []string{"9000"}},
	{name: "telemetry", address: "2001:db8::4", ports: []string{"4317"}},
	{name: "mail", address: "192.0.2.5", ports: []string{"25", "26"}},
	{
		name: "other-envoy", namespace: manifest.Options.Namespace, ports: []string{"9999"}, labels: map[string]string{
			"app.kubernetes.io/name": "supersonic", "app.kubernetes.io/instance": "other", "app.kubernetes.io/component": "envoy",
		},
	},
}

const namedPeers = `
networkPolicy:
  enabled: true
  clients: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: clients}}}]
  scrapers: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  viewers: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
`

const namedEgress = `
  egress:
    dns: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}]
    kubernetesAPI: [{ipBlock: {cidr: 192.0.2.1/32}}]
    prometheus: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
    issuers: [{ipBlock: {cidr: 192.0.2.2/32}}]
    stores: [{ipBlock: {cidr: 192.0.2.3/32}}]
    telemetry: [{ipBlock: {cidr: "2001:db8::/64"}}]
`

// insideFlows are the connections between the components of the release, when all of them run.
const insideFlows = `
envoy opentelemetry-collector:4317
envoy opentelemetry-collector:4318
envoy prometheus:9090
envoy triton:8001
grafana prometheus:9090
grafana tempo:3100
metrics-collector prometheus:9090
opentelemetry-collector prometheus:9090
opentelemetry-collector tempo:4317
opentelemetry-collector tempo:4318
prometheus envoy:9901
prometheus opentelemetry-collector:8888
prometheus tempo:3100
prometheus triton:8002
tempo prometheus:9090
test envoy:8001
test triton:8001
triton opentelemetry-collector:4317
triton opentelemetry-collector:4318
`

// enteringFlows are the connections of others to the release, when all components run and all peers are named.
const enteringFlows = `
client envoy:8001
keda prometheus:9090
scraper envoy:9901
scraper opentelemetry-collector:8888
scraper tempo:3100
scraper triton:8002
viewer grafana:3000
viewer metrics-collector:8003
`

// dnsFlows returns the connections to the one DNS server that is named, at its ports.
func dnsFlows(components ...string) string {
	var lines strings.Builder
	for _, c := range components {
		for _, port := range []string{"53", "53/UDP", "5353/UDP", "8080"} {
			fmt.Fprintf(&lines, "%s dns:%s\n", c, port)
		}
	}
	return lines.String()
}

func lines(text string) []string {
	return slices.Sorted(strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' }))
}

// releaseFlows returns the connections from and to the release's pods.
func releaseFlows(t *testing.T, m render.Manifests, only ...networkingv1.PolicyType) []string {
	t.Helper()
	policies := all[networkingv1.NetworkPolicy](t, m, "NetworkPolicy")
	for i, p := range policies {
		if len(only) > 0 {
			policies[i].Spec.PolicyTypes = slices.DeleteFunc(p.Spec.PolicyTypes, func(of networkingv1.PolicyType) bool { return of != only[0] })
		}
	}
	outside := map[string]bool{}
	for _, e := range outsiders {
		outside[e.name] = true
	}
	return slices.DeleteFunc(flows(policies, append(parties(t, m), outsiders...)), func(flow string) bool {
		from, to, _ := strings.Cut(flow, " ")
		to, _, _ = strings.Cut(to, ":")
		return outside[from] && outside[to]
	})
}

// Between the release's own pods, the policies for incoming and for outgoing connections allow the same.
func TestFlowsInBothDirections(t *testing.T) {
	m := manifest.Render(t, everyPart+namedPeers+namedEgress)
	outside := map[string]bool{}
	for _, e := range outsiders {
		outside[e.name] = true
	}
	for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
		inside := slices.DeleteFunc(releaseFlows(t, m, direction), func(flow string) bool {
			from, to, _ := strings.Cut(flow, " ")
			to, _, _ = strings.Cut(to, ":")
			return outside[from] || outside[to]
		})
		if diff := cmp.Diff(lines(insideFlows), inside); diff != "" {
			t.Errorf("%s alone (-want +got):\n%s", direction, diff)
		}
	}
}

// The policies allow these connections of the release's pods, and no others.
func TestFlows(t *testing.T) {
	everyone := []string{"envoy", "grafana", "metrics-collector", "opentelemetry-collector", "prometheus", "tempo", "test", "triton"}
	apiFlows := "prometheus api:6443\nprometheus api:22\n"
	const outside = `
prometheus: {external: {enabled: true, url: https://metrics.example.org, scrapeInterval: 15s}}
triton: {args: [--model-repository, "s3://store.example.org:9000/models", "--trace-config=opentelemetry,url=otel.example.org:4318"]}
envoy:
  rate_limiter: {prometheus_based: {enabled: true}}
  tracing: {host: otel.example.org}
  auth: {enabled: true, providers: [{name: one, issuer: one, jwksUri: "https://issuer.example.org:8443/keys"}]}
grafana: {enabled: true}
metricsCollector: {enabled: true}
opentelemetry-collector: {enabled: true, config: {exporters: {otlp: {endpoint: "otel.example.org:4317"}}}}
tempo: {enabled: true, tempo: {metricsGenerator: {remoteWriteUrl: "https://metrics.example.org/write"}}}
`
	for _, tc := range []struct{ name, values, want string }{
		{"named-peers", everyPart + namedPeers + namedEgress, insideFlows + enteringFlows + dnsFlows(everyone...) + apiFlows},
		{
			"own-rules", everyPart + namedPeers + namedEgress +
				"    rules: {triton: [{to: [{ipBlock: {cidr: 192.0.2.5/32}}], ports: [{port: 25, protocol: TCP}]}]}\n",
			insideFlows + enteringFlows + dnsFlows(everyone...) + apiFlows + "triton mail:25\n",
		},
		{
			"others-share-prometheus", strings.Replace(everyPart, "prometheus: {", "prometheus: {server: {otherReleases: [other]}, ", 1) +
				namedPeers + namedEgress,
			insideFlows + enteringFlows + dnsFlows(everyone...) + apiFlows + "other-envoy prometheus:9090\nprometheus other-envoy:9999\n",
		},
		{
			"prometheus-in-public", strings.Replace(everyPart, "prometheus: {",
				"prometheus: {server: {ingress: {enabled: true, hostName: a.example.org}}, ", 1) + namedPeers + namedEgress,
			insideFlows + enteringFlows + dnsFlows(everyone...) + apiFlows + "viewer prometheus:9090\n",
		},
		{
			"other-ports", "prometheus: {enabled: true}\nenvoy: {statsPort: 9911, service: {ports: [{name: grpc, port: 1, targetPort: 9002}]}}\n" +
				"triton: {args: [--grpc-port=9001, --metrics-port=9003], service: {ports: [{name: http, port: 8000, targetPort: 8000}, " +
				"{name: grpc, port: 2, targetPort: 9001}, {name: metrics, port: 3, targetPort: 9003}]}}\n" + namedPeers + namedEgress,
			"client envoy:9002\nscraper envoy:9911\nscraper triton:9003\nkeda prometheus:9090\nenvoy triton:9001\nenvoy prometheus:9090\n" +
				"prometheus envoy:9911\nprometheus triton:9003\ntest envoy:9002\ntest triton:9001\n" + apiFlows +
				dnsFlows("envoy", "prometheus", "test", "triton"),
		},
		{
			"without-envoy", "envoy: {enabled: false}\n" + namedPeers + namedEgress,
			"client triton:8001\nscraper triton:8002\ntest triton:8001\n" + dnsFlows("test", "triton"),
		},
		{
			"outside-the-release", outside + namedPeers + namedEgress,
			"client envoy:8001\nscraper envoy:9901\nscraper triton:8002\nscraper tempo:3100\nscraper opentelemetry-collector:8888\n" +
				"viewer grafana:3000\nviewer metrics-collector:8003\nenvoy triton:8001\ntest envoy:8001\ntest triton:8001\n" +
				"envoy opentelemetry-collector:4317\nenvoy opentelemetry-collector:4318\n" +
				"triton opentelemetry-collector:4317\ntriton opentelemetry-collector:4318\n" +
				"opentelemetry-collector tempo:4317\nopentelemetry-collector tempo:4318\ngrafana tempo:3100\n" +
				"envoy scraper:9090\ngrafana scraper:9090\nmetrics-collector scraper:9090\nenvoy issuer:8443\ntriton store:9000\n" +
				"envoy telemetry:4317\ntriton telemetry:4317\nopentelemetry-collector telemetry:4317\ntempo telemetry:4317\n" +
				dnsFlows("envoy", "grafana", "metrics-collector", "opentelemetry-collector", "tempo", "test", "triton"),
		},
		{
			"traces-straight-to-tempo", "tempo: {enabled: true}\nenvoy: {tracing: {host: " + manifest.Options.Release + "-tempo}}\n" +
				"triton: {args: [--model-repository=/models, \"--trace-config=opentelemetry,url=http://" + manifest.Options.Release +
				"-tempo:4318/v1/traces\"]}\n" + namedPeers + namedEgress,
			"client envoy:8001\nscraper envoy:9901\nscraper triton:8002\nscraper tempo:3100\nenvoy triton:8001\n" +
				"test envoy:8001\ntest triton:8001\nenvoy tempo:4317\n" +
				"envoy tempo:4318\ntriton tempo:4317\ntriton tempo:4318\n" + dnsFlows("envoy", "tempo", "test", "triton"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(lines(tc.want), releaseFlows(t, manifest.Render(t, tc.values))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// If no peers are named, anyone may connect as a client or viewer, and the pods may connect to DNS and the Kubernetes API
// at any address. Nothing else is allowed.
func TestFlowsOfAnyone(t *testing.T) {
	var want strings.Builder
	want.WriteString(insideFlows + "keda prometheus:9090\nprometheus api:6443\n")
	for _, e := range outsiders {
		fmt.Fprintf(&want, "%[1]s envoy:8001\n%[1]s grafana:3000\n%[1]s metrics-collector:8003\n", e.name)
	}
	inside := []string{"envoy", "grafana", "metrics-collector", "opentelemetry-collector", "prometheus", "tempo", "test", "triton"}
	for _, from := range inside {
		fmt.Fprintf(&want, "%[1]s dns:53\n%[1]s dns:53/UDP\n%[1]s dns:5353/UDP\n", from)
	}
	m := manifest.Render(t, everyPart+"networkPolicy: {enabled: true}")
	if diff := cmp.Diff(lines(want.String()), releaseFlows(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
