package load

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Result is every call of a load.
type Result struct {
	Lasted time.Duration `json:"lasted"`
	Calls  []Call        `json:"calls"`
}

// Between returns the calls that ended in an interval of the load.
func (r Result) Between(from, to time.Duration) Result {
	kept := Result{Lasted: to - from}
	for _, c := range r.Calls {
		if end := c.At + c.Took; end >= from && end < to {
			kept.Calls = append(kept.Calls, c)
		}
	}
	return kept
}

// Of returns the calls to one model.
func (r Result) Of(model string) Result {
	kept := Result{Lasted: r.Lasted}
	for _, c := range r.Calls {
		if c.Model == model {
			kept.Calls = append(kept.Calls, c)
		}
	}
	return kept
}

// Completed counts the calls that were answered.
func (r Result) Completed() int { return len(r.Calls) - len(r.Failed()) }

// Failed are the calls that were not answered.
func (r Result) Failed() []Call {
	var failed []Call
	for _, c := range r.Calls {
		if c.Err != "" {
			failed = append(failed, c)
		}
	}
	return failed
}

// Quantile is a quantile of the response time of answered calls, or 0 without any.
func (r Result) Quantile(q float64) time.Duration {
	var took []time.Duration
	for _, c := range r.Calls {
		if c.Err == "" {
			took = append(took, c.Took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)-1, int(q*float64(len(took))))]
}

// Mean is the mean response time of answered calls, or 0 without any.
func (r Result) Mean() time.Duration {
	var sum time.Duration
	for _, c := range r.Calls {
		if c.Err == "" {
			sum += c.Took
		}
	}
	return sum / time.Duration(max(1, r.Completed()))
}

// InFlight is the mean number of calls in flight in an interval of the load, as the
// clients saw it.
func (r Result) InFlight(from, to time.Duration) float64 {
	var sum time.Duration
	for _, c := range r.Calls {
		begin, end := max(c.At, from), min(c.At+c.Took, to)
		if end > begin {
			sum += end - begin
		}
	}
	return sum.Seconds() / (to - from).Seconds()
}

// String is a summary on one line.
func (r Result) String() string {
	failed := r.Failed()
	var s strings.Builder
	fmt.Fprintf(&s, "%d completed, %d failed in %s, p50 %s p90 %s p99 %s",
		r.Completed(), len(failed), r.Lasted.Round(time.Second),
		r.Quantile(0.5).Round(time.Millisecond), r.Quantile(0.9).Round(time.Millisecond),
		r.Quantile(0.99).Round(time.Millisecond))
	for _, c := range failed[:min(5, len(failed))] {
		fmt.Fprintf(&s, "\n  at %s after %s: %s", c.At.Round(time.Millisecond), c.Took.Round(time.Millisecond), c.Err)
	}
	return s.String()
}
