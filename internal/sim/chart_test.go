package sim_test

import (
	"testing"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// rendered is the chart of this module.
func rendered(t testing.TB) sim.Chart {
	t.Helper()
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	return func(values map[string]any) (sim.Settings, error) {
		manifests, err := render.Chart(c, values, render.Options{Release: sim.Release, Namespace: sim.Namespace})
		if err != nil {
			return sim.Settings{}, err
		}
		return sim.ReadSettings(manifests)
	}
}

// compared runs policies of a shipped scenario; without names, all of them and the
// least fixed fleet.
func compared(t testing.TB, name string, seeds int, policies ...string) *sim.Report {
	t.Helper()
	s, err := sim.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	s.Seeds = seeds
	r, err := sim.Compare(t.Context(), s, sim.Options{Chart: rendered(t), Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// result returns the result of one policy.
func result(t testing.TB, r *sim.Report, policy string) *sim.Result {
	t.Helper()
	for i := range r.Policies {
		if r.Policies[i].Name == policy {
			return &r.Policies[i]
		}
	}
	t.Fatalf("%s: no policy %s", r.Scenario, policy)
	return nil
}

// mean is the mean of a number over a policy's runs.
func mean(t testing.TB, r *sim.Report, policy string, of func(*sim.Outcome) float64) float64 {
	t.Helper()
	return result(t, r, policy).Over(of).Mean
}

func replicaMinutes(o *sim.Outcome) float64 { return o.ReplicaMinutes }
func wall(o *sim.Outcome) float64           { return o.Wall }
func p90(o *sim.Outcome) float64            { return o.P90 }
func most(o *sim.Outcome) float64           { return float64(o.Most) }
func rest(o *sim.Outcome) float64           { return float64(o.Rest) }
func steadyMin(o *sim.Outcome) float64      { return float64(o.SteadyMin) }
func steadyMax(o *sim.Outcome) float64      { return float64(o.SteadyMax) }
func changesAnHour(o *sim.Outcome) float64  { return o.SteadyChanges }
func noise(o *sim.Outcome) float64          { return o.SteadyNoise }
