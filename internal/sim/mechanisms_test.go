package sim_test

import (
	"math"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// Each mechanism that makes a fleet too large or too small appears in its
// scenario, and disappears with the policy that remedies it.
func TestMechanisms(t *testing.T) {
	for _, tc := range []struct {
		scenario, policy, what string
		of                     func(*sim.Outcome) float64
		least, most            float64
	}{
		{"replicas-ahead-of-the-window", "written-form", "most replicas", most, 25, 50},
		{"replicas-ahead-of-the-window", "built-in", "most replicas", most, 13, 15},
		{"ensemble", "built-in", "replicas at rest", rest, 1, 2},
		{"ensemble", "without the ensemble", "replicas at rest", rest, 14, 21},
		{"idle-concurrency", "built-in", "most replicas", most, 8, 64}, // 2 would do
		{"long-requests", "built-in", "seconds until 10 replicas are asked for", reached10, 180, 3600},
		{"long-requests", "the larger of both", "seconds until 10 replicas are asked for", reached10, 10, 100},
		{"stall", "built-in", "fewest replicas", steadyMin, 1, 7},
		{"stall", "the larger of both", "fewest replicas", steadyMin, 10, 10},
		{"sub-millisecond", "built-in", "fewest replicas", steadyMin, 1, 1},
		{"sub-millisecond", "the larger of both", "fewest replicas", steadyMin, 3, 3},
		{"decoupled", "built-in", "replicas at rest", rest, 30, 40},
		{"decoupled", "concurrency of 16 for each replica", "replicas at rest", rest, 4, 4},
		{"two-envoys", "built-in", "replicas at rest", rest, 19, 22},
		{"prometheus-restarts", "built-in", "fewest replicas", steadyMin, 19, 21},
		{"prometheus-restarts", "scale-down window of 30 s", "fewest replicas", steadyMin, 1, 19.5},
		{"open-steps", "built-in", "changes an hour", changesAnHour, 10, 100},
	} {
		t.Run(tc.scenario+"/"+tc.policy, func(t *testing.T) {
			r := compared(t, tc.scenario, 1, tc.policy)
			between(t, tc.what, mean(t, r, tc.policy, tc.of), tc.least, tc.most)
		})
	}
}

// reached10 is when a run first asks for 10 replicas.
func reached10(o *sim.Outcome) float64 {
	for _, c := range o.Sizes {
		if c.To >= 10 {
			return c.At.Seconds()
		}
	}
	return math.Inf(1)
}
