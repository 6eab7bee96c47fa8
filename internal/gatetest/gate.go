// Package gatetest runs the gate, as the chart's templates render it, in the real Envoy.
package gatetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/envoytest"
	"github.com/fastmachinelearning/supersonic/internal/luatest"
)

// A Gate is an Envoy with the gate, between a client, a stub of Prometheus and a stub of Triton.
type Gate struct {
	*envoytest.Envoy
	Prometheus *envoytest.Prometheus
	Triton     *envoytest.Triton
	Client     *envoytest.Client
	Listener   string // host:port

	directory string // what Envoy watches
	reloads   int
}

var bootstrap = template.Must(template.New("bootstrap").Parse(`
node: {id: test, cluster: test}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}
bootstrap_extensions:
- name: envoy.bootstrap.internal_listener
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener
stats_flush_interval: 0.1s
stats_config:
  stats_tags:
  - {tag_name: outcome, regex: '\.lua\.gate\.outcome(\.(\w+))$'}
  - {tag_name: answer, regex: '\.lua\.gate\.answer(\.(\w+))$'}
static_resources:
  listeners:
  - name: grpc
    address: {socket_address: {address: 127.0.0.1, port_value: 8001}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: {{ .StatPrefix }}
          codec_type: AUTO
          stream_idle_timeout: 0s
          http2_protocol_options: {max_concurrent_streams: 16384}
          route_config:
            name: grpc
            virtual_hosts:
            - name: grpc
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: triton_grpc_service, timeout: 0s}
          http_filters:
          {{ .Filter }}
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  {{ .Listeners }}
  clusters:
  - name: triton_grpc_service
    type: STATIC
    connect_timeout: 1s
    circuit_breakers:
      thresholds: [{max_connections: 100000, max_requests: 100000, max_pending_requests: 100000}]
    health_checks:
    - {timeout: 1s, interval: 0.5s, no_traffic_interval: 0.5s, unhealthy_threshold: 1, healthy_threshold: 1, grpc_health_check: {}}
    common_lb_config: {healthy_panic_threshold: {value: 0}}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: triton_grpc_service}
  {{ .Clusters }}
`))

// Start runs the gate with the settings; their directory and the address of Prometheus are set here.
func Start(t testing.TB, s luatest.Settings) *Gate {
	t.Helper()
	g := &Gate{Prometheus: envoytest.StartPrometheus(t), Triton: envoytest.StartTriton(t), directory: t.TempDir()}
	g.run(t, s.With("directory", g.directory))
	return g
}

func (g *Gate) run(t testing.TB, s luatest.Settings) {
	t.Helper()
	g.WriteFiles(t, s)
	render := func(define string, indent int) string {
		text, err := s.Render(define)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent))
	}
	var text strings.Builder
	parts := map[string]string{
		"StatPrefix": s["statPrefix"].(string),
		"Filter":     render("filter", 10), "Listeners": render("listeners", 2), "Clusters": render("clusters", 2),
	}
	if err := bootstrap.Execute(&text, parts); err != nil {
		t.Fatal(err)
	}
	endpoints := map[string]string{"triton_grpc_service": g.Triton.Addr}
	if s["limiter"].(map[string]any)["enabled"] == true {
		endpoints["prometheus_cluster"] = g.Prometheus.Addr
	}
	g.Envoy = envoytest.Start(t, envoytest.Options{Bootstrap: text.String(), Endpoints: endpoints})
	g.Listener = g.Addr(t, "grpc")
	g.Client = envoytest.Dial(t, g.Listener)
}

// WriteFiles replaces the files that Envoy watches, as the kubelet does: by a symbolic link that is renamed.
func (g *Gate) WriteFiles(t testing.TB, s luatest.Settings) {
	t.Helper()
	files, err := s.With("directory", g.directory).Files()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.MkdirTemp(g.directory, "..data-")
	if err != nil {
		t.Fatal(err)
	}
	var steps []error
	for name, text := range files {
		steps = append(steps, os.WriteFile(filepath.Join(data, name), []byte(text), 0o600))
		if _, missing := os.Lstat(filepath.Join(g.directory, name)); missing != nil {
			steps = append(steps, os.Symlink(filepath.Join("..data", name), filepath.Join(g.directory, name)))
		}
	}
	fresh := filepath.Join(g.directory, "..data_tmp")
	steps = append(steps, os.Symlink(data, fresh), os.Rename(fresh, filepath.Join(g.directory, "..data")))
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Index makes one guarded call.
func (g *Gate) Index(ctx context.Context) envoytest.Reply {
	return g.Client.Call(ctx, envoytest.RepositoryIndex, nil)
}

// Outcomes are the gate's counters of calls that are not 0.
func (g *Gate) Outcomes(t testing.TB) map[string]float64 { return g.counters(t, "outcome") }

// Answers are the gate's counters of Prometheus' answers that are not 0.
func (g *Gate) Answers(t testing.TB) map[string]float64 { return g.counters(t, "answer") }

func (g *Gate) counters(t testing.TB, label string) map[string]float64 {
	t.Helper()
	counted := map[string]float64{}
	for _, m := range g.Metrics(t)[fmt.Sprintf("envoy_http_lua_gate_%s", label)].GetMetric() {
		for _, l := range m.GetLabel() {
			if v := m.GetCounter().GetValue(); l.GetName() == label && v != 0 {
				counted[l.GetValue()] = v
			}
		}
	}
	return counted
}

// Reload gives Envoy the settings while it runs, and waits until it has taken them. The gate knows nothing afterwards.
func (g *Gate) Reload(t testing.TB, s luatest.Settings) {
	t.Helper()
	before := g.Reloads(t)
	g.reloads++
	// Envoy takes only what differs from what it has.
	s = s.With("filterText", fmt.Sprintf("%s-- reload %d\n", s["filterText"], g.reloads))
	g.WriteFiles(t, s)
	envoytest.Await(t, 5*time.Second, "a reload", func() bool { return g.Reloads(t) > before })
}

// Reloads counts how often Envoy has taken the gate's settings.
func (g *Gate) Reloads(t testing.TB) float64 {
	t.Helper()
	return g.Value(t, "envoy_extension_config_discovery_http_filter_gate_config_reload")
}
