package sim_test

import (
	"testing"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// A percentage removes an idle fleet faster. Under noise it makes the default metric swing, so null stays the default;
// with a think time the size does not swing.
func TestScaleDownByPercent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute; run without -short")
	}
	const one, ten, quarter = "one at a time", "10 percent", "25 percent"
	r := compared(t, "shrink-100", 1, one, ten, quarter)
	between(t, "after the load fell, by 10 percent", change(t, r, ten, one, replicaMinutes), -0.7, -0.2)
	between(t, "after the load fell, by 25 percent", change(t, r, quarter, one, replicaMinutes), -0.7, -0.2)

	const think, thinkTen = "think time", "think time and 10 percent"
	r = compared(t, "noise-100", 2, one, ten, quarter, think, thinkTen)
	between(t, "under noise, by 10 percent", change(t, r, ten, one, replicaMinutes), 0.15, 0.8)
	between(t, "under noise, by 25 percent", change(t, r, quarter, one, replicaMinutes), 0.3, 1.5)
	between(t, "under noise, by 10 percent with a think time", change(t, r, thinkTen, think, replicaMinutes), -0.15, 0.01)
	between(t, "changes an hour with a think time", mean(t, r, thinkTen, changesAnHour), 0, 1)
}

// The HPA keeps a fleet that is at most 10 % too large. What noise once asked for then stays, which is why clients that
// join and leave, and random arrivals, take more than 1.15 times the least fixed fleet. Kubernetes 1.35 has a tolerance
// for scale-down alone, and with it they take less.
func TestScaleDownTolerance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; run without -short")
	}
	for _, tc := range []struct {
		scenario, policy string
		least            float64 // replicas of the least fixed fleet, as simulate finds them
	}{
		{"open-200", "think-60s", 21},
		{"thinking-churn", "measured", 35},
	} {
		t.Run(tc.scenario, func(t *testing.T) {
			t.Parallel()
			s, err := sim.Load(tc.scenario)
			if err != nil {
				t.Fatal(err)
			}
			s.Seeds = 2
			fixed := tc.least * s.Duration.Minutes()
			before := minutesOn(t, s, tc.policy)
			lay := s.Values["keda"].(map[string]any)
			lay["scaleDown"] = map[string]any{"tolerance": 0}
			after := minutesOn(t, s, tc.policy)
			between(t, "replica-minutes over the least fixed fleet's with a tolerance of 10 %", before/fixed, 1.15, 1.25)
			between(t, "replica-minutes over the least fixed fleet's without a tolerance", after/fixed, 1, 1.15)
		})
	}
}

// minutesOn is the mean of the replica-minutes of a policy on Kubernetes 1.35.
func minutesOn(t *testing.T, s *sim.Scenario, policy string) float64 {
	t.Helper()
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	on := func(values map[string]any) (sim.Settings, error) {
		o := render.Options{Release: sim.Release, Namespace: sim.Namespace, KubeVersion: "1.35.0"}
		manifests, err := render.Chart(c, values, o)
		if err != nil {
			return sim.Settings{}, err
		}
		return sim.ReadSettings(manifests)
	}
	r, err := sim.Compare(t.Context(), s, sim.Options{Chart: on, Policies: []string{policy}})
	if err != nil {
		t.Fatal(err)
	}
	return mean(t, r, policy, replicaMinutes)
}
