package keda

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

var (
	histories = flag.Int("histories", 100, "random histories to compare")
	seed      = flag.Uint64("seed", 1, "of the first history")
)

// Fleets that KEDA scales to zero or to an idle size agree with KEDA's, over random histories of polls and HPA syncs.
func TestFleetsMoveAsWithKEDA(t *testing.T) {
	seen := map[string]int{}
	for i := range uint64(*histories) {
		synctest.Test(t, func(t *testing.T) { compare(t, *seed+i, seen) })
		if t.Failed() {
			t.Fatalf("seed %d", *seed+i)
		}
	}
	t.Logf("%d histories: %v", *histories, seen)
	for _, what := range []string{"polls", "moved", "readings", "fell back"} {
		if seen[what] < *histories {
			t.Errorf("%s: %d, which is too few to compare", what, seen[what])
		}
	}
}

func compare(t *testing.T, seed uint64, seen map[string]int) {
	r := rand.New(rand.NewPCG(seed, 0))
	spec := randomSpec(r)
	scaler, err := hpa.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, spec, int32(r.IntN(5)))
	start := time.Now()
	// KEDA stores whole seconds, so the end of a cool-down is hit exactly.
	waits := pick(r, []time.Duration{10 * time.Second, 5 * time.Second},
		[]time.Duration{10 * time.Second, 2500 * time.Millisecond, 333 * time.Millisecond})
	for range 40 {
		time.Sleep(pick(r, waits...))
		now, size := time.Since(start), c.size()
		c.setReady(r.IntN(int(size) + 1))
		fleet := hpa.Fleet{Spec: size, Status: size, Ready: int32(c.ready)}
		answers := randomAnswers(r, spec)
		if r.IntN(3) > 0 {
			pollKEDA(c, spec, answers, seen)
			if got := scaler.Poll(now, answers, fleet); got != c.size() {
				t.Fatalf("at %v: %d replicas, KEDA makes it %d\nspec %+v, fallback %+v\nfleet %+v, answers %v",
					now, got, c.size(), spec, spec.Fallback, fleet, answers)
			}
			if c.size() != size {
				seen["moved"]++
			}
			continue
		}
		d := scaler.Sync(now, answers, fleet)
		for i, m := range d.Metrics {
			seen["readings"]++
			want, fellBack, err := c.look(i, answers[i])
			if (err != nil) != (m.Err != nil) || want != m.Value {
				t.Fatalf("at %v: trigger %d reads %+v, KEDA %d, %v\nspec %+v, fallback %+v, fleet %+v",
					now, i, m, want, err, spec, spec.Fallback, fleet)
			}
			if fellBack {
				seen["fell back"]++
			}
		}
		c.resize(d.Replicas)
	}
}

// pollKEDA is a poll of KEDA. The fleet is active if one trigger sees work, or fails.
func pollKEDA(c *cluster, spec hpa.Spec, answers []hpa.Answer, seen map[string]int) {
	seen["polls"]++
	active, failed := false, false
	for i, a := range answers {
		_, fellBack, err := c.look(i, a)
		failed = failed || err != nil
		active = active || fellBack || a.Err == nil && a.Value > spec.Triggers[i].Activation
	}
	c.poll(active, failed)
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomSpec returns a spec with which KEDA polls, because the fleet may be at zero or at the idle size.
func randomSpec(r *rand.Rand) hpa.Spec {
	s := hpa.Spec{
		Max:             12,
		PollingInterval: 10 * time.Second,
		Cooldown:        time.Duration(pick(r, 0, 10, 20, 45, 60)) * time.Second,
		InitialCooldown: time.Duration(pick(r, 0, 10, 30)) * time.Second,
	}
	if r.IntN(2) == 0 {
		s.Min = int32(1 + r.IntN(3))
		s.Idle = new(int32(r.IntN(int(s.Min))))
	}
	if r.IntN(3) > 0 {
		s.Fallback = &hpa.Fallback{
			FailureThreshold: int32(r.IntN(4)),
			Replicas:         int32(r.IntN(8)),
			Behavior:         pick(r, "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"),
		}
	}
	for range 1 + r.IntN(2) {
		s.Triggers = append(s.Triggers, hpa.Trigger{
			Threshold:  pick(r, 0.001, 0.7, 1, 1.1, 2, 3.333, 1e6),
			Activation: pick(r, 0, 0.5),
			MetricType: pick(r, autoscaling.AverageValueMetricType, autoscaling.ValueMetricType),
		})
	}
	return s
}

func randomAnswers(r *rand.Rand, spec hpa.Spec) []hpa.Answer {
	all := make([]hpa.Answer, len(spec.Triggers))
	for i := range all {
		all[i].Value = pick(r, 0, 0, 0, 0.5, 3)
		if r.IntN(3) == 0 {
			all[i] = hpa.Answer{Err: errors.New("no answer")}
		}
	}
	return all
}
