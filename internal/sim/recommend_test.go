package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/sim"
)

// thinkers is a small scenario, with a goal that today's values keep at too high a cost.
const thinkers = `
about: clients that think
duration: 20m
seeds: 2
wanted: {p90: 400ms}
values: {keda: {maxReplicaCount: 20}, serverLoadRateInterval: 2m}
models: [{name: model, service: 100ms}]
clients: [{name: batch jobs, count: 40, think: 1s}]
`

func scenario(t *testing.T, text string) *sim.Scenario {
	t.Helper()
	file := filepath.Join(t.TempDir(), "thinkers.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := sim.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func searched(t *testing.T) sim.Search {
	t.Helper()
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	return sim.Search{Chart: rendered(t), Defaults: c.Values}
}

func recommended(t *testing.T, s *sim.Scenario) *sim.Advice {
	t.Helper()
	a, err := sim.Recommend(t.Context(), s, searched(t))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is recommended keeps the goal with every seed, nothing else that does is cheaper, and its values file gives the
// same numbers as a policy. The same seeds give the same advice.
func TestRecommendedValues(t *testing.T) {
	s := scenario(t, thinkers)
	a := recommended(t, s)
	if !a.Kept || a.Chosen.Seeds != s.Seeds || a.Chosen.Reached > 0.4 {
		t.Fatalf("recommended %v with %d seeds, a p90 of %g s and kept %v; want 400 ms with every seed",
			a.Chosen.Set, a.Chosen.Seeds, a.Chosen.Reached, a.Kept)
	}
	for _, other := range a.Tried {
		if other.Kept && other.Seeds == s.Seeds && other.ReplicaMinutes < a.Chosen.ReplicaMinutes {
			t.Errorf("%v keeps the goal for %g replica-minutes, %v was recommended for %g",
				other.Set, other.ReplicaMinutes, a.Chosen.Set, a.Chosen.ReplicaMinutes)
		}
	}
	if a.Chosen.ReplicaMinutes >= a.Today.ReplicaMinutes {
		t.Errorf("%g replica-minutes, today's values take %g", a.Chosen.ReplicaMinutes, a.Today.ReplicaMinutes)
	}
	valuesGive(t, s, a)
	if diff := cmp.Diff(asJSON(t, a), asJSON(t, recommended(t, s))); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
}

// valuesGive runs the values file of the advice as a policy, without the scenario's values.
func valuesGive(t *testing.T, s *sim.Scenario, a *sim.Advice) {
	t.Helper()
	var file bytes.Buffer
	if err := a.YAML(&file); err != nil {
		t.Fatal(err)
	}
	alone := *s
	alone.Values, alone.Policies = nil, []sim.Policy{{Name: "recommended"}}
	if err := yaml.Unmarshal(file.Bytes(), &alone.Policies[0].Values); err != nil {
		t.Fatal(err)
	}
	r, err := sim.Compare(t.Context(), &alone, sim.Options{Chart: rendered(t), Policies: []string{"recommended"}})
	if err != nil {
		t.Fatal(err)
	}
	p := result(t, r, "recommended")
	slowest := p.Over(func(o *sim.Outcome) float64 { return o.SteadyP90 }).Most
	if got := p.Over(replicaMinutes).Mean; math.Abs(got-a.Chosen.ReplicaMinutes) > 1e-9 || slowest != a.Chosen.Reached {
		t.Errorf("%s\ngives %g replica-minutes and a p90 of %g s, not %g and %g",
			file.String(), got, slowest, a.Chosen.ReplicaMinutes, a.Chosen.Reached)
	}
	if strings.Contains(file.String(), "minReplicaCount: 1\n") {
		t.Errorf("a default is among the values:\n%s", file.String())
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Without anything that keeps the goal, the closest is named as such.
func TestNothingKeepsTheGoal(t *testing.T) {
	s := scenario(t, thinkers)
	s.Seeds, s.Duration, s.Settle = 1, 6*time.Minute, 2*time.Minute
	s.Wanted = sim.Goal{P90: 50 * time.Millisecond} // half of the service time
	a := recommended(t, s)
	for _, other := range a.Tried {
		if other.Kept || other.Reached < a.Chosen.Reached {
			t.Errorf("%v: kept %v with %g s, the closest %v has %g s", other.Set, other.Kept, other.Reached, a.Chosen.Set, a.Chosen.Reached)
		}
	}
	var text bytes.Buffer
	if err := a.Text(&text); err != nil || a.Kept ||
		!strings.Contains(text.String(), "nothing that was tried keeps the goal") || !strings.Contains(text.String(), "# The closest values") {
		t.Errorf("%v, kept %v\n%s", err, a.Kept, text.String())
	}
}

// A search that is interrupted gives what is known so far; before anything is known, it fails.
func TestInterruptedSearch(t *testing.T) {
	s := scenario(t, thinkers)
	ctx, stop := context.WithCancel(t.Context())
	o := searched(t)
	o.Progress = func(stage string, done, _ int, _ float64) {
		if stage == "grid" && done > 3 {
			stop()
		}
	}
	a, err := sim.Recommend(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := a.Text(&text); err != nil || !a.Interrupted || len(a.Tried) > 10 ||
		!strings.Contains(text.String(), "interrupted: this is what is known so far") {
		t.Errorf("%v, %d tried\n%s", err, len(a.Tried), text.String())
	}

	// While the cheapest run with every seed, of which today's values are the first.
	late, stop := context.WithCancel(t.Context())
	o.Progress = func(stage string, done, _ int, _ float64) {
		if stage == "finalists" && done > 1 {
			stop()
		}
	}
	if a, err = sim.Recommend(late, s, o); err != nil {
		t.Fatal(err)
	}
	if text.Reset(); a.Text(&text) != nil || !a.Kept || !a.Interrupted || a.Chosen.ReplicaMinutes >= a.Today.ReplicaMinutes {
		t.Errorf("interrupted among the finalists:\n%s", text.String())
	}
	if _, err := sim.Recommend(ctx, s, o); err == nil || !strings.Contains(err.Error(), "interrupted before any run was complete") {
		t.Errorf("without a run: %v", err)
	}
}
