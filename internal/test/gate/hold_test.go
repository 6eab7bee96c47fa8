package gate_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// atOnce is the time limit for answers without delay, on a busy machine. The hold itself lasts 300 s.
const atOnce = 10 * time.Second

// noReplica runs the hold with zero replicas.
func noReplica(t testing.TB, v gate.Values) *gate.Gate {
	t.Helper()
	g := gate.Start(t, v.With("envoy.hold.enabled", true).Limiter("enabled", false))
	g.Triton.Down()
	envoy.Await(t, gate.Patience, "no healthy replica", func() bool { return healthy(t, g) == 0 })
	return g
}

func healthy(t testing.TB, g *gate.Gate) float64 {
	return g.Value(t, "envoy_cluster_membership_healthy", "envoy_cluster_name", "triton_grpc_service")
}

// callMany makes calls at the same time, 50 for each client, and sends their replies when all have ended.
func callMany(ctx context.Context, t testing.TB, g *gate.Gate, calls int) <-chan []envoy.Reply {
	t.Helper()
	var clients []*envoy.Client
	for range (calls + 49) / 50 {
		clients = append(clients, envoy.Dial(t, g.Listener(t)))
	}
	done := make(chan []envoy.Reply, 1)
	replies := make([]envoy.Reply, calls)
	go func() {
		var wait sync.WaitGroup
		for i := range calls {
			wait.Go(func() { replies[i] = clients[i/50].Call(ctx, envoy.RepositoryIndex, nil) })
		}
		wait.Wait()
		done <- replies
	}()
	return done
}

func count(replies []envoy.Reply) map[codes.Code]int {
	counted := map[codes.Code]int{}
	for _, r := range replies {
		counted[r.Code]++
	}
	return counted
}

func awaitHeld(t testing.TB, g *gate.Gate, calls float64) {
	t.Helper()
	envoy.Await(t, gate.Patience, "held calls", func() bool {
		return g.Value(t, "envoy_cluster_upstream_rq_active", "envoy_cluster_name", "gate_wait") >= calls
	})
}

// Any method can be held, and the call keeps its message.
func TestHeldInference(t *testing.T) {
	g := noReplica(t, gate.Defaults().Limiter("methods", []any{envoy.RepositoryIndex, envoy.ModelInfer}))
	replies := make(chan envoy.Reply, 1)
	client := envoy.Dial(t, g.Listener(t))
	go func() { replies <- client.Call(t.Context(), envoy.ModelInfer, make([]byte, 4<<20)) }()
	awaitHeld(t, g, 1)
	g.Triton.Up(t)
	if r := <-replies; r.Code != codes.OK {
		t.Errorf("%v %q", r.Code, r.Message)
	}
}

func TestHeldCallsAreReleased(t *testing.T) {
	g := noReplica(t, gate.Defaults())
	done := callMany(t.Context(), t, g, 50)
	awaitHeld(t, g, 50)
	// Each probe that finds no replica is counted here and wakes the fleet; the calls themselves are not.
	envoy.Await(t, gate.Patience, "a wake-up signal", func() bool {
		return g.Value(t, "envoy_cluster_upstream_cx_none_healthy", "envoy_cluster_name", "triton_grpc_service") >= 4
	})
	ready := time.Now()
	g.Triton.Up(t)
	if counted := count(<-done); counted[codes.OK] != 50 {
		t.Errorf("ended with %v, want all OK", counted)
	}
	if took := time.Since(ready); took > atOnce { // BenchmarkHold measures it
		t.Errorf("released %s after the replica was ready, want soon", took)
	}
	if outcomes := g.Outcomes(t); outcomes["held"] != 50 || outcomes["allowed"] != 50 {
		t.Errorf("outcomes %v, want 50 held and allowed", outcomes)
	}
	awaitIdle(t, g)
}

// The number of probes per second does not grow with the number of held calls.
func TestHeldCallsShareTheirProbes(t *testing.T) {
	g := noReplica(t, gate.Defaults())
	ctx, cancel := context.WithCancel(t.Context())
	done := callMany(ctx, t, g, 200)
	awaitHeld(t, g, 200)
	probes := func() float64 {
		return g.Value(t, "envoy_cluster_upstream_cx_none_healthy", "envoy_cluster_name", "triton_grpc_service")
	}
	before, start := probes(), time.Now()
	envoy.Await(t, gate.Patience, "ten probes", func() bool { return probes() >= before+10 })
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("ten probes took %s, want at most 4 a second", took)
	}
	cancel()
	<-done
}

func TestHoldExpires(t *testing.T) {
	g := noReplica(t, gate.Defaults().With("envoy.hold.maxSeconds", 1.5))
	r := g.Index(t.Context())
	if r.Code != codes.Unavailable || r.Message != "no replica became ready within 1.5 s" {
		t.Errorf("%v %q", r.Code, r.Message)
	}
	if r.Took < 1500*time.Millisecond || r.Took > atOnce {
		t.Errorf("ended after %s, want 1.5 s", r.Took)
	}
	if outcomes := g.Outcomes(t); outcomes["hold_expired"] != 1 {
		t.Errorf("outcomes %v", outcomes)
	}
}

// Calls above the limit are refused at once, and do not displace waiting calls.
func TestHoldIsLimited(t *testing.T) {
	g := noReplica(t, gate.Defaults().With("envoy.hold.maxCalls", 30).With("envoy.hold.maxCallsPerConnection", 30).
		With("envoy.hold.pollSeconds", 0.05))
	held := callMany(t.Context(), t, g, 30)
	awaitHeld(t, g, 30)
	const others = 1000
	for range others / 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		<-callMany(ctx, t, g, 5)
		cancel()
	}
	// A new call may find a place between two pauses of a waiting one, which keeps waiting.
	if full := g.Outcomes(t)["hold_full"]; full < others*99/100 {
		t.Errorf("outcomes %v, want %d hold_full", g.Outcomes(t), others)
	}
	g.Triton.Up(t)
	if counted := count(<-held); counted[codes.OK] != 30 {
		t.Errorf("the held calls ended with %v, want all OK", counted)
	}
}

// Clients that give up make room for others at once.
func TestHeldClientsLeave(t *testing.T) {
	g := noReplica(t, gate.Defaults().With("envoy.hold.maxCalls", 30).With("envoy.hold.maxCallsPerConnection", 30))
	ctx, cancel := context.WithCancel(t.Context())
	held := callMany(ctx, t, g, 30)
	awaitHeld(t, g, 30)
	cancel()
	if counted := count(<-held); counted[codes.Canceled] != 30 {
		t.Errorf("ended with %v, want all cancelled", counted)
	}
	awaitIdle(t, g)
	next := callMany(t.Context(), t, g, 30)
	awaitHeld(t, g, 30)
	g.Triton.Up(t)
	if counted := count(<-next); counted[codes.OK] != 30 {
		t.Errorf("the calls after them ended with %v, want all OK", counted)
	}
}

func TestHeldCallKeepsItsDeadline(t *testing.T) {
	g := noReplica(t, gate.Defaults())
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if r := g.Index(ctx); r.Code != codes.DeadlineExceeded || r.Took > atOnce {
		t.Errorf("%v after %s, want the client's deadline", r.Code, r.Took)
	}
	awaitIdle(t, g)
}

// Only guarded calls wait.
func TestInferenceIsNotHeld(t *testing.T) {
	g := noReplica(t, gate.Defaults())
	if r := g.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.Unavailable || r.Took > atOnce {
		t.Errorf("%v after %s, want UNAVAILABLE at once", r.Code, r.Took)
	}
}

// Calls wait for a replica that is up but not ready.
func TestHoldWaitsForServing(t *testing.T) {
	g := noReplica(t, gate.Defaults())
	done := callMany(t.Context(), t, g, 1)
	awaitHeld(t, g, 1)
	g.Triton.SetServing(false)
	g.Triton.Up(t)
	checks := g.Triton.Checks()
	envoy.Await(t, gate.Patience, "health checks", func() bool { return g.Triton.Checks() > checks+3 })
	select {
	case replies := <-done:
		t.Errorf("released to a replica that does not serve: %v", replies[0].Code)
	default:
	}
	g.Triton.SetServing(true)
	if counted := count(<-done); counted[codes.OK] != 1 {
		t.Errorf("ended with %v, want OK", counted)
	}
}

// Triton before 2023 has no grpc.health.v1.
func TestHoldWaitsForOldTriton(t *testing.T) {
	g := noReplica(t, gate.Defaults())
	done := callMany(t.Context(), t, g, 1)
	awaitHeld(t, g, 1)
	g.Triton.SetHealthService(false)
	g.Triton.Up(t)
	if counted := count(<-done); counted[codes.OK] != 1 {
		t.Errorf("ended with %v, want OK", counted)
	}
}

// With both, calls that pass the gate are held, and refused calls are not.
func TestGateComesBeforeTheHold(t *testing.T) {
	g := gate.Start(t, gate.Defaults().With("envoy.hold.enabled", true).Limiter("cacheSeconds", 0.2))
	g.Triton.Down()
	envoy.Await(t, gate.Patience, "no healthy replica", func() bool { return healthy(t, g) == 0 })
	g.SetLoad(t, "5")
	if r := g.Index(t.Context()); r.Code != codes.ResourceExhausted || r.Took > atOnce {
		t.Errorf("load 5: %v after %s, want a refusal at once", r.Code, r.Took)
	}
	g.SetLoad(t, "0")
	done := callMany(t.Context(), t, g, 1)
	awaitHeld(t, g, 1)
	g.Triton.Up(t)
	if counted := count(<-done); counted[codes.OK] != 1 {
		t.Errorf("load 0: ended with %v, want OK", counted)
	}
}
