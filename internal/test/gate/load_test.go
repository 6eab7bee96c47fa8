package gate_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// shortTimes returns values with short times, so that their effects are soon visible.
func shortTimes() gate.Values {
	return gate.Defaults().Limiter("cacheSeconds", 0.2).Limiter("timeoutSeconds", 0.2).Limiter("lastKnownSeconds", 5)
}

// awaitCode calls until a call ends with the code.
func awaitCode(t *testing.T, g *gate.Gate, want codes.Code) {
	t.Helper()
	envoy.Await(t, gate.Patience, fmt.Sprintf("a call that ends with %v", want), func() bool {
		return g.Index(t.Context()).Code == want
	})
}

var failures = map[string]func(*gate.Gate){
	"slow": func(g *gate.Gate) {
		slow := envoy.Sample("1")
		slow.Delay = 500 * time.Millisecond
		g.Prometheus.Set(slow)
	},
	"hanging": func(g *gate.Gate) { g.Prometheus.Set(envoy.Answer{Hang: true}) },
	"down":    func(g *gate.Gate) { g.Prometheus.Down() },
}

// If Prometheus fails from the start, the load is unknown, and no call waits for it.
func TestPrometheusNeverAnswers(t *testing.T) {
	for failure, set := range failures {
		for choice, want := range map[string]codes.Code{
			"open": codes.OK, "closed": codes.ResourceExhausted, "last": codes.OK,
		} {
			t.Run(failure+"-"+choice, func(t *testing.T) {
				g := gate.New(t, shortTimes().Limiter("unknownLoad", choice))
				set(g)
				g.Run(t)
				if first := g.Index(t.Context()); first.Code != want {
					t.Errorf("first call: %v %q, want %v", first.Code, first.Message, want)
				}
				g.AwaitAnswers(t, 2)
				if next := g.Index(t.Context()); next.Code != want {
					t.Errorf("next call: %v %q, want %v", next.Code, next.Message, want)
				}
			})
		}
	}
}

// If Prometheus fails later, the gate uses the last load for a while, then follows unknownLoad, and recovers.
func TestPrometheusRecovers(t *testing.T) {
	for failure, set := range failures {
		for choice, want := range map[string]codes.Code{
			"open": codes.OK, "closed": codes.ResourceExhausted, "last": codes.ResourceExhausted,
		} {
			t.Run(failure+"-"+choice, func(t *testing.T) {
				t.Parallel()
				g := gate.StartAt(t, shortTimes().Limiter("unknownLoad", choice), "5")
				if r := g.Index(t.Context()); r.Code != codes.ResourceExhausted {
					t.Fatalf("load 5: %v", r.Code)
				}
				set(g)
				awaitUnknown(t, g)
				if r := g.Index(t.Context()); r.Code != want {
					t.Errorf("load unknown: %v %q, want %v", r.Code, r.Message, want)
				}
				if choice == "last" {
					awaitCode(t, g, codes.OK) // the known load is too old by then
				}
				if failure == "down" {
					g.Prometheus.Up(t)
				}
				g.Prometheus.Set(envoy.Sample("7"))
				awaitMessage(t, g, "overloaded: load 7 is above the admission threshold 3, try again later")
				g.Prometheus.Set(envoy.Sample("1"))
				awaitCode(t, g, codes.OK)
			})
		}
	}
}

// awaitUnknown calls until the load is unknown, which takes the time of two queries.
func awaitUnknown(t *testing.T, g *gate.Gate) {
	t.Helper()
	envoy.Await(t, gate.Patience, "an unknown load", func() bool {
		g.Index(t.Context())
		age := float64(time.Now().UnixMilli()) - g.Value(t, "envoy_http_lua_gate_at_ms")
		return age > 1000
	})
}

func awaitMessage(t *testing.T, g *gate.Gate, want string) {
	t.Helper()
	envoy.Await(t, gate.Patience, fmt.Sprintf("a refusal with %q", want), func() bool {
		r := g.Index(t.Context())
		return r.Code == codes.ResourceExhausted && r.Message == want
	})
}

func TestRampRefusesAShare(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("ramp", 2.0).Limiter("cacheSeconds", 60.0), "3.5") // a quarter of the ramp
	const calls = 2000
	refused := 0
	for range calls {
		if g.Index(t.Context()).Code == codes.ResourceExhausted {
			refused++
		}
	}
	if refused < calls*20/100 || refused > calls*30/100 {
		t.Errorf("%d of %d calls refused, want about a quarter", refused, calls)
	}
}

// The number of queries does not depend on the number of calls, clients or workers.
func TestQueriesDoNotGrow(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("cacheSeconds", 60.0), "1")
	var wait sync.WaitGroup
	for range 40 {
		client := envoy.Dial(t, g.Listener(t))
		for range 5 {
			wait.Go(func() {
				if r := client.Call(t.Context(), envoy.RepositoryIndex, nil); r.Code != codes.OK {
					t.Errorf("%v %q", r.Code, r.Message)
				}
			})
		}
	}
	wait.Wait()
	if queries := len(g.Prometheus.Queries()); queries != 1 {
		t.Errorf("%d queries for 200 calls of 40 clients within the cache time, want 1", queries)
	}
}

// While a query runs, calls use the previous load.
func TestNoCallWaitsForPrometheus(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("cacheSeconds", 0.1).Limiter("timeoutSeconds", 60), "5")
	g.Prometheus.Set(envoy.Answer{Hang: true})
	g.AwaitQuery(t)
	answered := g.Answered(t)
	for range 100 {
		if r := g.Index(t.Context()); r.Code != codes.ResourceExhausted {
			t.Errorf("%v %q, want the refusal by the load before", r.Code, r.Message)
		}
	}
	if g.Answered(t) != answered {
		t.Error("the query has ended before the calls")
	}
}

// The gate knows the load without any calls.
func TestIdleGateKnowsTheLoad(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("unknownLoad", "closed"), "0")
	began := time.Now()
	g.AwaitAnswers(t, 5)
	if took := time.Since(began); took < 3900*time.Millisecond {
		t.Errorf("5 queries in %s, want at most one a second", took)
	}
	if r := g.Index(t.Context()); r.Code != codes.OK {
		t.Errorf("the first call: %v %q", r.Code, r.Message)
	}
}

// awaitIdle waits until Envoy has no active request.
func awaitIdle(t *testing.T, g *gate.Gate) {
	t.Helper()
	envoy.Await(t, gate.Patience, "no active request in Envoy", func() bool {
		active, _ := g.Metrics(t).Sum("envoy_cluster_upstream_rq_active")
		downstream, _ := g.Metrics(t).Sum("envoy_http_downstream_rq_active", "envoy_http_conn_manager_prefix", "ingress_grpc")
		return active == 0 && downstream == 0
	})
}

// replace returns an edit of the gate's file. The test fails if old is not found.
func replace(t *testing.T, old, by string) gate.Edit {
	return func(text string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("the gate's file has no %q", old)
		}
		return strings.Replace(text, old, by, 1)
	}
}

// An error of the script is treated like an unknown load, and Envoy's own counter of errors stays 0.
func TestScriptError(t *testing.T) {
	for failure, replacement := range map[string][2]string{
		"nil":             {"local function judge(handle)", "local function judge(handle) local _ = nil .. 1"},
		"unknown-cluster": {"handle:httpCall(config.probe_cluster,", "handle:httpCall(\"nowhere\","},
	} {
		for choice, want := range map[string]codes.Code{"open": codes.OK, "closed": codes.ResourceExhausted} {
			t.Run(failure+"-"+choice, func(t *testing.T) {
				g := gate.StartAt(t, gate.Defaults().With("envoy.hold.enabled", true).Limiter("unknownLoad", choice).
					Limiter("cacheSeconds", 60), "0", replace(t, replacement[0], replacement[1]))
				if r := g.Index(t.Context()); r.Code != want {
					t.Errorf("%v %q, want %v", r.Code, r.Message, want)
				}
				outcome := map[string]string{"open": "fault_allowed", "closed": "fault_refused"}[choice]
				if n := g.Outcomes(t)[outcome]; n != 1 {
					t.Errorf("outcomes %v, want 1 of %s", g.Outcomes(t), outcome)
				}
				if n := g.Value(t, "envoy_http_lua_gate_errors"); n != 0 {
					t.Errorf("envoy counts %v errors", n)
				}
			})
		}
	}
}

// An error while Prometheus is asked makes the load unknown.
func TestRefreshError(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("unknownLoad", "closed").Limiter("cacheSeconds", 60), "1",
		replace(t, "handle:httpCall(load.cluster,", "handle:httpCall(\"nowhere\","))
	if r := g.Index(t.Context()); r.Code != codes.ResourceExhausted || r.Message != "the load is unknown, try again later" {
		t.Errorf("%v %q", r.Code, r.Message)
	}
	if answers := g.Answers(t); answers["fault"] != 1 {
		t.Errorf("answers %v, want 1 fault", answers)
	}
}
