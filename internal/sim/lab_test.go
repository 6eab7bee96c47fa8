package sim_test

import (
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// The simulator is within 15 % of the replica-minutes and completed requests of
// runs on a real cluster with KEDA, Prometheus, Envoy and Triton. Replica-minutes
// count the replicas asked for, as they did there.
func TestLabRuns(t *testing.T) {
	for _, tc := range []struct {
		scenario, policy          string
		replicaMinutes, completed float64
	}{
		{"lab-waiting-16", "built-in", 18.3, 45_646},
		{"lab-waiting-16", "written-form", 23.5, 54_768},
		{"lab-thinking-200", "built-in", 71.9, 85_574},
		{"lab-thinking-200", "measured without room", 30.2, 83_351},
		{"lab-thinking-24", "built-in", 36.3, 9_255},
		{"lab-thinking-24", "measured without room", 34.1, 9_259},
		{"lab-open", "built-in", 53.8, 7_700},
		{"lab-open", "think-60s", 32.0, 7_700},
	} {
		r := compared(t, tc.scenario, 5, tc.policy)
		minutes := mean(t, r, tc.policy, func(o *sim.Outcome) float64 { return o.AskedMinutes })
		completed := mean(t, r, tc.policy, func(o *sim.Outcome) float64 { return float64(o.Completed) })
		between(t, tc.scenario+", "+tc.policy+": replica-minutes", minutes/tc.replicaMinutes, 0.85, 1.15)
		between(t, tc.scenario+", "+tc.policy+": completed", completed/tc.completed, 0.85, 1.15)
		t.Logf("%s, %s: %.1f replica-minutes (measured %.1f), %.0f completed (%.0f)",
			tc.scenario, tc.policy, minutes, tc.replicaMinutes, completed, tc.completed)
	}
}
