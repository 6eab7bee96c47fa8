package e2e

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
)

// Sixteen synchronous clients call two models with one instance on every replica,
// so that 16/(2·2) = 4 replicas answer within twice the service time. The fleet
// grows to its answer and stays. When most clients leave it shrinks, and no request
// fails. The queries of KEDA and of the gate agree with what the clients saw.
func TestStep(t *testing.T) {
	t.Parallel()
	f := install(t, "step", "--set", "envoy.rate_limiter.prometheus_based.enabled=true", "--set", "serverAdmissionThreshold=50")
	f.firstAnswer(time.Minute)
	sizes := f.WatchSizes(t.Context())
	few := f.clients(2, "fast", "slow")
	many := f.clients(14, "fast", "slow")

	f.await(5*time.Minute, "a fleet that stays for a minute", func(context.Context) error {
		if s := sizes.Last(); s.Wanted < 2 || sizes.Steady() < time.Minute {
			return fmt.Errorf("%d wanted, %d ready, steady for %s", s.Wanted, s.Ready, sizes.Steady())
		}
		return nil
	})
	course := sizes.Course()
	changes := cluster.Changes(course)
	final := changes[len(changes)-1]
	t.Logf("up: %s", cluster.Describe(course))
	t.Logf("up: %d changes to %d replicas, at most %d", len(changes)-1, final, slices.Max(changes))
	if final < 4 || final > 6 {
		t.Errorf("the fleet settles at %d replicas, want 4 to 6", final)
	}
	answer := int32(math.Ceil(f.agree(float64(final), few, many) / 2))
	t.Logf("the answer: %d replicas", answer)
	if over := slices.Max(changes) - answer; over > 1 {
		t.Errorf("the fleet goes over its answer by %d replicas, want at most 1", over)
	}

	noneFailed(t, "clients that leave", many.Stop())
	f.awaitSize(sizes, 5*time.Minute, 1)
	f.await(time.Minute, "the end of every drain", func(ctx context.Context) error {
		pods, err := f.AllPods(ctx, "triton")
		if err == nil && len(pods) != 1 {
			err = fmt.Errorf("%d replicas are there still", len(pods))
		}
		return err
	})
	noneFailed(t, "clients that stay", few.Stop())
	t.Logf("down: %s", cluster.Describe(sizes.Stop()))
	f.noRestarts()
}
