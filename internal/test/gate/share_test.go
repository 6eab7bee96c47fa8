package gate_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// One connection cannot fill the hold, however many calls it makes: calls of others are still held.
func TestHoldShareOfAConnection(t *testing.T) {
	const calls, others = 1100, 50 // more than envoy.hold.maxCalls
	for _, c := range []struct {
		name string
		call func(context.Context, *envoy.Client, int)
		held float64 // calls that have started to wait, by the time a replica is ready
	}{
		{"at-once", func(ctx context.Context, c *envoy.Client, _ int) {
			c.Call(ctx, envoy.RepositoryIndex, nil)
		}, calls + others},
		{"forged-addresses", func(ctx context.Context, c *envoy.Client, i int) {
			from := fmt.Sprintf("10.0.%d.%d", i/250, i%250)
			c.Call(ctx, envoy.RepositoryIndex, nil, "x-forwarded-for", from, "x-real-ip", from, "forwarded", "for="+from)
		}, calls + others},
		{"again-and-again", func(ctx context.Context, c *envoy.Client, _ int) {
			for ctx.Err() == nil {
				soon, cancel := context.WithTimeout(ctx, time.Second)
				c.Call(soon, envoy.RepositoryIndex, nil)
				<-soon.Done()
				cancel()
			}
		}, 4*calls + others},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := noReplica(t, gate.Defaults())
			held := func(calls float64) func() bool { return func() bool { return g.Outcomes(t)["held"] >= calls } }
			ctx, cancel := context.WithCancel(t.Context())
			attacker := envoy.Dial(t, g.Listener(t))
			var wait sync.WaitGroup
			for i := range calls {
				wait.Go(func() { c.call(ctx, attacker, i) })
			}
			defer wait.Wait()
			defer cancel()
			envoy.Await(t, gate.Patience, "the attack", held(calls))
			replies := callMany(t.Context(), t, g, others)
			envoy.Await(t, gate.Patience, "the calls of others", held(c.held))
			g.Triton.Up(t)
			if counted := count(<-replies); counted[codes.OK] != others {
				t.Errorf("the calls of others ended with %v, want all OK", counted)
			}
		})
	}
}

// A connection regains its share soon after its callers have left.
func TestShareIsFreeAgain(t *testing.T) {
	const share = 8
	g := noReplica(t, gate.Defaults().With("envoy.hold.maxCallsPerConnection", share))
	ctx, cancel := context.WithCancel(t.Context())
	for range share {
		go g.Index(ctx)
	}
	awaitHeld(t, g, share)
	const want = "no replica is ready, and too many calls of this connection are waiting"
	if r := g.Index(t.Context()); r.Code != codes.Unavailable || r.Message != want {
		t.Errorf("a call beyond the share: %v %q", r.Code, r.Message)
	}
	cancel()
	envoy.Await(t, gate.Patience, "a call that waits", func() bool {
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return g.Index(soon).Code == codes.DeadlineExceeded
	})
}

// Calls beyond the share are not refused while a replica is ready, even if Envoy does not know that yet.
func TestShareIsForWaiting(t *testing.T) {
	g := gate.Start(t, gate.Defaults().Limiter("enabled", false).
		With("envoy.hold.enabled", true).With("envoy.hold.maxCallsPerConnection", 1))
	if counted := count(<-callMany(t.Context(), t, g, 50)); counted[codes.OK] != 50 {
		t.Errorf("ended with %v, want all OK", counted)
	}
	if outcomes := g.Outcomes(t); outcomes["held"] == 0 {
		t.Errorf("outcomes %v, want calls that waited for a probe", outcomes)
	}
}
