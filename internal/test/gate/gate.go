// Package gate runs the gate and the hold in the real Envoy, as the chart renders all of it.
package gate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// Patience is how long a test waits for what takes a moment, on a machine that is busy.
const Patience = 30 * time.Second

// Values are a user's values.
type Values map[string]any

// Defaults turn the gate on, in front of an external Prometheus without TLS that may take its time. The threshold is 3.
func Defaults() Values {
	v := Values{}
	for path, value := range map[string]any{
		"envoy.rate_limiter.prometheus_based.enabled":        true,
		"envoy.rate_limiter.prometheus_based.timeoutSeconds": 5,
		"prometheus.external.enabled":                        true,
		"prometheus.external.url":                            "prometheus.test",
		"prometheus.external.port":                           9090,
		"prometheus.external.scheme":                         "http",
		"prometheus.external.scrapeInterval":                 "5s",
		"envoy.healthCheck.unhealthyThreshold":               1,
		"envoy.healthCheck.interval":                         "0.5s",
	} {
		v = v.With(path, value)
	}
	return v
}

// With returns a copy with the value at a path such as envoy.hold.enabled replaced.
func (v Values) With(path string, value any) Values {
	v = maps.Clone(v)
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		v[head] = value
		return v
	}
	inner, _ := v[head].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
	}
	v[head] = map[string]any(Values(inner).With(rest, value))
	return v
}

// Limiter returns a copy with a value of envoy.rate_limiter.prometheus_based replaced.
func (v Values) Limiter(key string, value any) Values {
	return v.With("envoy.rate_limiter.prometheus_based."+key, value)
}

// A Gate is an Envoy with the gate, between a client, a stub of Prometheus and a stub of Triton.
type Gate struct {
	*envoy.Envoy
	Prometheus *envoy.Prometheus
	Triton     *envoy.Triton
	Client     *envoy.Client
	Listener   string // host:port
	Secrets    string // folder that stands for /etc/prometheus-client

	GateFiles string // folder that stands for /etc/envoy/gate

	reloads int
}

// An Edit changes the text of the gate's file, to put a fault there.
type Edit func(string) string

// New makes the stubs, for a gate that runs later.
func New(t testing.TB) *Gate {
	t.Helper()
	return &Gate{
		Prometheus: envoy.StartPrometheus(t), Triton: envoy.StartTriton(t),
		Secrets: t.TempDir(), GateFiles: t.TempDir(),
	}
}

// Start makes the stubs and runs the gate.
func Start(t testing.TB, v Values, edits ...Edit) *Gate {
	t.Helper()
	g := New(t)
	g.Run(t, v, edits...)
	return g
}

// Run starts Envoy.
func (g *Gate) Run(t testing.TB, v Values, edits ...Edit) {
	t.Helper()
	bootstrap := g.write(t, v, edits...)
	endpoints := map[string]string{"triton_grpc_service": g.Triton.Addr, "triton_grpc_health": g.Triton.Addr}
	if strings.Contains(bootstrap, "prometheus_cluster") {
		endpoints["prometheus_cluster"] = g.Prometheus.Addr
	}
	g.Envoy = envoy.Start(t, envoy.Options{Bootstrap: bootstrap, Endpoints: endpoints})
	g.Listener = g.Addr(t, "listener_grpc")
	g.Client = envoy.Dial(t, g.Listener)
}

// write renders the chart, mounts the gate's files, and returns Envoy's bootstrap.
func (g *Gate) write(t testing.TB, v Values, edits ...Edit) string {
	t.Helper()
	loaded, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := render.Chart(loaded, v, render.Options{Release: "sonic", Namespace: "test"})
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/etc/envoy/gate", g.GateFiles, "/etc/prometheus-client", g.Secrets)
	files := data(t, manifests["envoy/lua-configmap.yaml"])
	for name, text := range files {
		for _, edit := range edits {
			text = edit(text)
		}
		files[name] = here.Replace(text)
	}
	envoy.Mount(t, g.GateFiles, files)
	return here.Replace(data(t, manifests["envoy/configmap.yaml"])["envoy.yaml"])
}

func data(t testing.TB, configMap string) map[string]string {
	t.Helper()
	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(configMap), &object); err != nil {
		t.Fatal(err)
	}
	return object.Data
}

// GateFile is the gate that Envoy watches.
func (g *Gate) GateFile(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.GateFiles, "gate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Reload gives Envoy the values' gate while it runs, and waits until it has taken it.
func (g *Gate) Reload(t testing.TB, v Values, edits ...Edit) {
	t.Helper()
	before := g.Reloads(t)
	g.reloads++
	// Envoy takes only what differs from what it has.
	differ := func(text string) string {
		return strings.Replace(text, "local config = {", fmt.Sprintf("local config = { -- reload %d", g.reloads), 1)
	}
	g.write(t, v, append(edits, differ)...)
	envoy.Await(t, Patience, "a reload", func() bool { return g.Reloads(t) > before })
}

// Reloads counts how often Envoy has taken the gate's file.
func (g *Gate) Reloads(t testing.TB) float64 {
	t.Helper()
	return g.Value(t, "envoy_extension_config_discovery_http_filter_gate_config_reload")
}

// Index makes one guarded call.
func (g *Gate) Index(ctx context.Context) envoy.Reply {
	return g.Client.Call(ctx, envoy.RepositoryIndex, nil)
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
