package gate_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// A changed threshold takes effect without a restart, and no call fails meanwhile.
func TestReloadUnderLoad(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults(), "5")
	if r := g.Index(t.Context()); r.Code != codes.ResourceExhausted {
		t.Fatalf("load 5, threshold 3: %v", r.Code)
	}
	g.Triton.SetDelay(20 * time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	var calls, failed atomic.Int64
	for range 8 {
		client := envoy.Dial(t, g.Listener(t))
		wait.Go(func() {
			for ctx.Err() == nil {
				calls.Add(1)
				if r := client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
					failed.Add(1)
				}
				if r := client.Call(t.Context(), envoy.RepositoryIndex, nil); r.Code != codes.OK && r.Code != codes.ResourceExhausted {
					failed.Add(1)
				}
			}
		})
	}
	for threshold := range 5 {
		g.Reload(t, gate.Defaults().With("serverAdmissionThreshold", 6+threshold))
	}
	if r := g.Index(t.Context()); r.Code != codes.OK {
		t.Errorf("load 5, threshold 10: %v %q", r.Code, r.Message)
	}
	stop()
	wait.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d calls failed", failed.Load(), calls.Load())
	}
}

// A changed threshold applies to the next call in every worker, even with a long cacheSeconds.
func TestReloadCountsAtOnce(t *testing.T) {
	slow := gate.Defaults().Limiter("cacheSeconds", 60)
	g := gate.StartAt(t, slow, "5")
	var clients []*envoy.Client
	for range 16 {
		clients = append(clients, envoy.Dial(t, g.Listener(t)))
	}
	want := func(code codes.Code) {
		for i, client := range clients {
			if r := client.Call(t.Context(), envoy.RepositoryIndex, nil); r.Code != code {
				t.Fatalf("client %d: %v %q, want %v", i, r.Code, r.Message, code)
			}
		}
	}
	want(codes.ResourceExhausted)
	for range 5 {
		g.Reload(t, slow.With("serverAdmissionThreshold", 10))
		want(codes.OK)
		g.Reload(t, slow)
		want(codes.ResourceExhausted)
	}
	if queries := len(g.Prometheus.Queries()); queries != 1 {
		t.Errorf("%d queries, want 1: the load is the same", queries)
	}
}

// After a change of the query, the old answer is ignored, even with a long cacheSeconds, and the new query is sent at once.
func TestChangedQuery(t *testing.T) {
	slow := gate.Defaults().Limiter("cacheSeconds", 60)
	g := gate.StartAt(t, slow, "5")
	g.Prometheus.Set(envoy.Answer{Hang: true})
	changed := slow.With("serverLoadMetric", "vector(1)").With("serverLoadThreshold", 3)
	g.Reload(t, changed)
	if r := g.Index(t.Context()); r.Code != codes.OK {
		t.Errorf("%v %q, want the choice for an unknown load", r.Code, r.Message)
	}
	g.Prometheus.Set(envoy.Sample("7"))
	g.Reload(t, changed.With("serverLoadMetric", "vector(2)"))
	awaitMessage(t, g, "overloaded: load 7 is above the admission threshold 3, try again later")
	if last := g.Prometheus.Queries(); last[len(last)-1].PromQL != "vector(2)" {
		t.Errorf("asked %q", last[len(last)-1].PromQL)
	}
}

// A reload keeps the counters, even without calls meanwhile.
func TestReloadKeepsTheCounters(t *testing.T) {
	slow := gate.Defaults().Limiter("cacheSeconds", 60)
	g := gate.StartAt(t, slow, "5")
	for range 3 {
		g.Index(t.Context())
	}
	g.Reload(t, slow.Limiter("ramp", 1))
	g.Reload(t, slow)
	time.Sleep(2 * time.Second) // long enough for Envoy to remove unused counters
	if refused := g.Outcomes(t)["refused"]; refused != 3 {
		t.Errorf("%v refusals are counted after two reloads, want 3", refused)
	}
}

// A gate that does not compile is rejected, and the previous one stays.
func TestBrokenReloadChangesNothing(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults(), "5")
	g.Index(t.Context())
	envoy.Mount(t, filepath.Join(g.Dir, "gate"), map[string]string{"gate.yaml": strings.Replace(
		g.GateFile(t), "local config = {", "local config = = {", 1)})
	envoy.Await(t, gate.Patience, "a refused reload", func() bool {
		return g.Value(t, "envoy_extension_config_discovery_http_filter_gate_config_fail") > 0
	})
	if r := g.Index(t.Context()); r.Code != codes.ResourceExhausted {
		t.Errorf("%v %q, want the refusal of the gate before", r.Code, r.Message)
	}
	if outcomes := g.Outcomes(t); outcomes["refused"] != 2 {
		t.Errorf("outcomes %v; want the gate before to go on", outcomes)
	}
}

// 10,000 guarded calls at once share one query, and all pass.
func TestTenThousandCalls(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("cacheSeconds", 60), "0")
	g.Triton.SetDelayOf(envoy.RepositoryIndex, 2*time.Second)
	g.Index(t.Context())
	done := callMany(t.Context(), t, g, 10000)
	envoy.Await(t, 4*gate.Patience, "10,000 calls in Triton", func() bool {
		return g.Triton.Calls(envoy.RepositoryIndex) >= 10001
	})
	if counted := count(<-done); counted[codes.OK] != 10000 {
		t.Errorf("ended with %v", counted)
	}
	if queries := len(g.Prometheus.Queries()); queries != 1 {
		t.Errorf("%d queries, want 1", queries)
	}
	awaitIdle(t, g)
}
