package sim

import (
	"slices"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
)

// An Outcome is the result of one run. Times are in seconds.
type Outcome struct {
	Seed           uint64  `json:"seed"`
	Until          float64 `json:"until"`          // when the run ended
	Interrupted    bool    `json:"interrupted"`    // before its end
	ReplicaMinutes float64 `json:"replicaMinutes"` // of all pods that hold a GPU, including those that start or drain
	AskedMinutes   float64 `json:"askedMinutes"`   // of the replicas that the Deployment asks for
	Replicas       float64 `json:"replicas"`       // mean number of pods that hold a GPU
	Completed      int64   `json:"completed"`
	Refused        int64   `json:"refused"` // found no replica
	Failed         int64   `json:"failed"`  // timed out, or on a pod that was killed
	Wall           float64 `json:"wall"`    // until the last client of a batch finished; 0 without a batch
	Mean           float64 `json:"mean"`
	P50            float64 `json:"p50"`
	P90            float64 `json:"p90"`
	P99            float64 `json:"p99"`
	Changes        int     `json:"changes"` // of the number of replicas

	// Once the fleet should have settled:
	SteadyInflation float64 `json:"steadyInflation"` // mean response time over mean service time
	SteadyP90       float64 `json:"steadyP90"`
	SteadyReplicas  float64 `json:"steadyReplicas"` // mean number of pods that hold a GPU
	SteadyMin       int     `json:"steadyMin"`      // fewest replicas asked for
	SteadyMax       int     `json:"steadyMax"`      // and most
	SteadyChanges   float64 `json:"steadyChanges"`  // per hour
	SteadyInFlight  float64 `json:"steadyInFlight"` // mean number of requests
	SteadyNoise     float64 `json:"steadyNoise"`    // deviation of the metric over its mean
	SteadyBusy      float64 `json:"steadyBusy"`     // mean number of requests that are executing

	Most      int     `json:"most"`      // replicas asked for, at any time
	Rest      int     `json:"rest"`      // median number of replicas asked for, once settled
	Overshoot int     `json:"overshoot"` // Most − Rest, or 0
	Answer    float64 `json:"answer"`    // time after which the size stays near Rest; negative if it never does
	Unread    int     `json:"unread"`    // readings of the metric without an answer

	Course []Point  `json:"-"`
	Sizes  []Change `json:"sizes"`
}

func (o *Outcome) note(answers []hpa.Answer) {
	for _, a := range answers {
		if a.Empty || a.Err != nil {
			o.Unread++
			return
		}
	}
}

// finish computes the outcome of the run.
func (r *run) finish() *Outcome {
	o := r.outcome
	now := r.world.Now()
	lasted := now - r.start
	o.Until = max(0, lasted.Seconds())
	o.Interrupted = now < r.end && !r.done()
	sums := r.world.Integrals()
	before := r.recorder.started
	o.ReplicaMinutes, o.AskedMinutes = (sums.Replicas-before.Replicas)/60, (sums.Wanted-before.Wanted)/60
	if o.Until > 0 {
		o.Replicas = 60 * o.ReplicaMinutes / o.Until
	}
	var all, steady fleet.Latency
	for _, s := range r.world.Stats() {
		o.Completed += s.Answered
		o.Refused += s.Refused
		o.Failed += s.Failed
		all.Add(&s.All)
		steady.Add(&s.Steady)
		if r.batch > 0 && s.Done > 0 {
			o.Wall = max(o.Wall, (s.LastDone - r.start).Seconds())
		}
	}
	o.Mean, o.P50, o.P90, o.P99 = all.Mean(), all.Quantile(0.5), all.Quantile(0.9), all.Quantile(0.99)
	o.SteadyInflation, o.SteadyP90 = steady.Inflation(), steady.Quantile(0.9)
	if steady := (now - r.recorder.settling).Seconds(); r.recorder.settling > 0 && steady > 0 {
		o.SteadyReplicas = (sums.Replicas - r.recorder.settled.Replicas) / steady
		o.SteadyInFlight = (sums.InFlight - r.recorder.settled.InFlight) / steady
		o.SteadyBusy = (sums.Executing - r.recorder.settled.Executing) / steady
	}
	o.SteadyNoise = r.recorder.noise()
	o.Course, o.Sizes = r.recorder.course, r.recorder.changes
	o.Changes = len(o.Sizes)
	o.sizes(r.config.Replicas, r.recorder.settle-r.start, lasted)
	return o
}

// sizes computes what follows from the changes of the number of replicas.
func (o *Outcome) sizes(first int, settle, end time.Duration) {
	all := append([]Change{{0, first}}, o.Sizes...)
	at := map[int]time.Duration{} // time at each size, once settled
	for i, c := range all {
		until := end
		if i+1 < len(all) {
			until = all[i+1].At
		}
		o.Most = max(o.Most, c.To)
		if until <= settle {
			continue
		}
		at[c.To] += until - max(c.At, settle)
		if c.At > settle {
			o.SteadyChanges++
		}
	}
	if end <= settle {
		o.Answer = -1
		return
	}
	o.SteadyChanges /= (end - settle).Hours()
	sizes := make([]int, 0, len(at))
	for size := range at {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	o.SteadyMin, o.SteadyMax = sizes[0], sizes[len(sizes)-1]
	o.Rest = median(sizes, at, end-settle)
	o.Overshoot = max(0, o.Most-max(o.Rest, first))
	o.Answer = answer(all, o.Rest, settle, end)
}

func median(sizes []int, at map[int]time.Duration, total time.Duration) int {
	var sum time.Duration
	for _, size := range sizes {
		if sum += at[size]; 2*sum >= total {
			return size
		}
	}
	return sizes[len(sizes)-1]
}

// answer is when the size came within 10 % of rest, or one replica, to stay. It is
// negative if the size is still away after the fleet should have settled.
func answer(all []Change, rest int, settle, end time.Duration) float64 {
	near := func(size int) bool { return 10*abs(size-rest) <= max(10, rest) }
	came := time.Duration(0)
	for i, c := range all {
		if near(c.To) {
			continue
		}
		came = end
		if i+1 < len(all) {
			came = all[i+1].At
		}
	}
	if came > settle {
		return -1
	}
	return came.Seconds()
}

func abs(n int) int { return max(n, -n) }
