package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// gated is a fleet of at most two replicas with the gate on: with 16 clients,
// requests take four times their service time.
var gated = []string{
	"--set", "keda.maxReplicaCount=2", "--set", "envoy.rate_limiter.prometheus_based.enabled=true",
}

// An upgrade of a fleet that has grown keeps its size, a changed gate takes effect,
// and no request fails.
func TestUpgradeWhileScaled(t *testing.T) {
	f := install(t, "upgrade", append(gated, "--set", "serverAdmissionThreshold=100")...)
	f.firstAnswer(time.Minute)
	sizes := f.WatchSizes(t.Context())
	run := f.clients(16, "fast", "slow")
	f.awaitSize(sizes, 3*time.Minute, 2)
	f.awaitIndex(2*time.Minute, codes.OK)
	before := len(sizes.Course())

	must(t, f.Apply(t.Context(), append([]string{"-f", lab.Values("lab"), "--set", "serverAdmissionThreshold=3"}, gated...)...))
	f.awaitIndex(3*time.Minute, codes.ResourceExhausted)
	for _, s := range sizes.Course()[before:] {
		if s.Wanted != 2 {
			t.Errorf("the upgrade changed the fleet's size: %s", cluster.Describe(sizes.Course()))
			break
		}
	}
	noneFailed(t, "clients during the upgrade", run.Stop())
}

// Calls need a token, except for health. Above the threshold new clients are
// refused with the right status, while admitted ones continue; after the load ends,
// they are admitted.
func TestGate(t *testing.T) {
	issuer := startIssuer(t, "gate")
	f := install(t, "gate", append(issuer.values(), gated...)...)
	stranger, misled := f, f
	misled.token = load.Token(issuer.token(t, "storage"))
	f.token = load.Token(issuer.token(t, "inference"))
	f.firstAnswer(time.Minute)
	for client, want := range map[*load.Client]codes.Code{
		stranger.dial(): codes.Unauthenticated, misled.dial(): codes.PermissionDenied,
	} {
		indexEndsWith(t, client, want)
		must(t, client.Close())
	}
	f.awaitIndex(time.Minute, codes.OK)
	run := f.clients(16, "fast", "slow")
	f.awaitIndex(3*time.Minute, codes.ResourceExhausted)
	noneFailed(t, "clients inside", run.Stop())
	f.awaitIndex(3*time.Minute, codes.OK)
}

// indexEndsWith makes one call.
func indexEndsWith(t testing.TB, client *load.Client, want codes.Code) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must(t, client.Ready(ctx))
	if err := client.Index(ctx); status.Code(err) != want {
		t.Errorf("an index call ended with %v, want %s", err, want)
	}
}

// awaitIndex makes the first call of a job until it ends with that code.
func (f fleet) awaitIndex(limit time.Duration, want codes.Code) {
	f.t.Helper()
	client := f.dial()
	defer client.Close()
	f.await(limit, fmt.Sprintf("an index call that ends with %s", want), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := client.Index(ctx); status.Code(err) != want {
			return fmt.Errorf("it ended with %s: %v", status.Code(err), err)
		}
		return nil
	})
}
