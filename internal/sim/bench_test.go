package sim_test

import (
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// BenchmarkDay is a day at 50 requests a second with its queries. Budget: 20 s.
func BenchmarkDay(b *testing.B) {
	for b.Loop() {
		s, err := sim.Load("day")
		if err != nil {
			b.Fatal(err)
		}
		s.Seeds = 1
		r, err := sim.Compare(b.Context(), s, sim.Options{Chart: rendered(b), Policies: []string{"built-in"}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Policies[0].Runs[0].Completed)/86400, "requests/simulated-s")
	}
}
