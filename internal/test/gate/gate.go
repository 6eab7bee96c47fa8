// Package gate runs the gate and the hold in the real Envoy, with everything that the chart renders for it.
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

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// Patience is the time limit for things that take a moment, on a busy machine.
const Patience = 30 * time.Second

// Values are a user's values.
type Values map[string]any

// Defaults enables the gate, with a threshold of 3 and an external Prometheus without TLS that may be slow.
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

// A Gate is the chart's Envoy with the gate between stubs.
type Gate struct {
	*envoy.Proxy
	reloads int
}

// An Edit changes the text of the gate's files, for example to add an error.
type Edit func(string) string

// New renders the chart and starts the stubs, without Envoy.
func New(t testing.TB, v Values) *Gate {
	t.Helper()
	return &Gate{Proxy: envoy.NewProxy(t, v.yaml(t))}
}

// Start starts the stubs and Envoy.
func Start(t testing.TB, v Values, edits ...Edit) *Gate {
	t.Helper()
	g := New(t, v)
	g.Run(t, edits...)
	return g
}

// StartAt starts the gate with a load, and waits until it has read it.
func StartAt(t testing.TB, v Values, load string, edits ...Edit) *Gate {
	t.Helper()
	g := New(t, v)
	g.Prometheus.Set(envoy.Sample(load))
	g.Run(t, edits...)
	envoy.Await(t, Patience, "the first load", func() bool { return g.Answered(t) > 0 })
	return g
}

// SetLoad changes the load, and waits until the gate has read it.
func (g *Gate) SetLoad(t testing.TB, load string) {
	t.Helper()
	g.Prometheus.Set(envoy.Sample(load))
	g.AwaitAnswers(t, 2) // the first may have been on its way
}

// AwaitAnswers waits until some more queries of the gate have been answered or have failed.
func (g *Gate) AwaitAnswers(t testing.TB, more float64) {
	t.Helper()
	before := g.Answered(t)
	envoy.Await(t, Patience, "answers of Prometheus", func() bool { return g.Answered(t) >= before+more })
}

// AwaitQuery waits until the gate sends a query.
func (g *Gate) AwaitQuery(t testing.TB) {
	t.Helper()
	before := len(g.Prometheus.Queries())
	envoy.Await(t, Patience, "a query", func() bool { return len(g.Prometheus.Queries()) > before })
}

// Answered returns the number of Prometheus' answers that the gate has read, of any kind.
func (g *Gate) Answered(t testing.TB) (answers float64) {
	t.Helper()
	for _, n := range g.Answers(t) {
		answers += n
	}
	return answers
}

// Run starts Envoy.
func (g *Gate) Run(t testing.TB, edits ...Edit) {
	t.Helper()
	g.Proxy.Run(t, envoy.ProxyOptions{GateEdit: all(edits)})
}

func (v Values) yaml(t testing.TB) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func all(edits []Edit) func(string) string {
	return func(text string) string {
		for _, edit := range edits {
			text = edit(text)
		}
		return text
	}
}

// Listener returns the host:port that clients call.
func (g *Gate) Listener(t testing.TB) string {
	t.Helper()
	return g.Addr(t, "listener_grpc")
}

// MountSecret replaces the credentials for Prometheus.
func (g *Gate) MountSecret(t testing.TB, files map[string]string) {
	t.Helper()
	envoy.Mount(t, filepath.Join(g.Dir, "prometheus-client"), files)
}

// GateFile returns the file of the gate that Envoy watches.
func (g *Gate) GateFile(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "gate", "gate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Reload replaces the gate in the running Envoy by that of the values, and waits until Envoy has loaded it.
func (g *Gate) Reload(t testing.TB, v Values, edits ...Edit) {
	t.Helper()
	before := g.Reloads(t)
	g.reloads++
	// Envoy only loads a file that differs from the current one.
	differ := func(text string) string {
		return strings.Replace(text, "local config = {", fmt.Sprintf("local config = { -- reload %d", g.reloads), 1)
	}
	g.Manifests = manifest.Render(t, v.yaml(t))
	g.MountGate(t, all(append(edits, differ)))
	envoy.Await(t, Patience, "a reload", func() bool { return g.Reloads(t) > before })
}

// Reloads returns how often Envoy has loaded the gate's file.
func (g *Gate) Reloads(t testing.TB) float64 {
	t.Helper()
	return g.Value(t, "envoy_extension_config_discovery_http_filter_gate_config_reload")
}

// Index makes one guarded call.
func (g *Gate) Index(ctx context.Context) envoy.Reply {
	return g.Client.Call(ctx, envoy.RepositoryIndex, nil)
}

// Outcomes returns the gate's counters of calls that are not 0.
func (g *Gate) Outcomes(t testing.TB) map[string]float64 { return g.counters(t, "outcome") }

// Answers returns the gate's counters of Prometheus' answers that are not 0.
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
