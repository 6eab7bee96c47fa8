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

// zero are the values of a fleet that scales to zero when idle. The cooldown is the
// minimum that the chart accepts: the start-up budget of a replica.
var zero = []string{"--set", "keda.minReplicaCount=0", "--set", "keda.cooldownPeriod=60"}

// Without the hold, calls are refused until the first replica is ready. The fleet
// returns to zero when calls end.
func TestFromZero(t *testing.T) {
	f := install(t, "zero", zero...)
	client := f.dial()
	defer client.Close()
	sizes := f.WatchSizes(t.Context())
	f.awaitNothing(sizes, client)
	begin, refused := time.Now(), 0
	f.await(2*time.Minute, "an answer from a fleet that was at 0", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err := client.Infer(ctx, "fast")
		if status.Code(err) == codes.Unavailable {
			refused++
		}
		return err
	})
	if refused == 0 {
		t.Error("no call was refused with UNAVAILABLE while no replica was there")
	}
	t.Logf("first answer %s after the first call, %d calls refused before", time.Since(begin).Round(time.Millisecond), refused)
	f.awaitSize(sizes, time.Minute, 1)
	f.awaitNothing(sizes, client)
}

// With the hold, the first call of a job waits at Envoy until a replica is ready,
// and every later call is answered.
func TestFromZeroWithHold(t *testing.T) {
	f := install(t, "hold", append(zero, "--set", "envoy.hold.enabled=true", "--set", "envoy.hold.maxSeconds=120")...)
	client := f.dial()
	defer client.Close()
	sizes := f.WatchSizes(t.Context())
	f.awaitNothing(sizes, client)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := time.Now()
	if err := client.Index(ctx); err != nil {
		t.Fatalf("held call after %s: %v", time.Since(begin).Round(time.Millisecond), err)
	}
	t.Logf("held call answered after %s", time.Since(begin).Round(time.Millisecond))
	for i := range 10 {
		if err := client.Infer(ctx, "fast"); err != nil {
			t.Errorf("call %d after the held one: %v", i, err)
		}
	}
	f.awaitNothing(sizes, client)
}

// awaitNothing waits for zero replicas and for the end of the last drain, so that
// Envoy knows no replica. Asking for readiness does not wake the fleet.
func (f fleet) awaitNothing(sizes *cluster.Sizes, client *load.Client) {
	f.t.Helper()
	f.awaitSize(sizes, 5*time.Minute, 0)
	f.await(2*time.Minute, "an Envoy without replicas", func(ctx context.Context) error {
		err := client.Ready(ctx)
		if status.Code(err) == codes.Unavailable {
			return nil
		}
		return fmt.Errorf("a replica is there: %v", err)
	})
}

// With a maximum above what fits on the node, pods that cannot be scheduled do not
// raise the number of replicas that KEDA asks for.
func TestUnschedulablePods(t *testing.T) {
	third := theNode(t).Status.Allocatable.Cpu().MilliValue() / 3
	f := install(t, "cap", "--set", "keda.maxReplicaCount=40", "--set", fmt.Sprintf("triton.resources.requests.cpu=%dm", third),
		"--set", fmt.Sprintf("triton.resources.limits.cpu=%dm", max(1000, third)))
	f.firstAnswer(time.Minute)
	sizes := f.WatchSizes(t.Context())
	run := f.clients(16, "fast", "slow")
	f.await(5*time.Minute, "replicas that wait for a node, and a request that stays for a minute", func(context.Context) error {
		last := sizes.Last()
		if since := sizes.Unchanged(); last.Ready >= last.Wanted || since < time.Minute {
			return fmt.Errorf("%d wanted, %d ready, for %s", last.Wanted, last.Ready, since.Round(time.Second))
		}
		return nil
	})
	noneFailed(t, "clients", run.Stop())
	last := sizes.Last()
	t.Logf("%d wanted, %d ready", last.Wanted, last.Ready)
	// 16 clients at twice the service time never need more than 8 replicas.
	if last.Wanted > 8 {
		t.Errorf("%d replicas wanted, want at most 8", last.Wanted)
	}
}
