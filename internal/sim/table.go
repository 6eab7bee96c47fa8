package sim

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// A Spread is a number over the runs of a policy.
type Spread struct {
	Mean  float64 `json:"mean"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// Over is the spread of a number over the runs.
func (r *Result) Over(of func(*Outcome) float64) Spread {
	s := Spread{Least: math.Inf(1), Most: math.Inf(-1)}
	for _, o := range r.Runs {
		v := of(o)
		s.Mean += v / float64(len(r.Runs))
		s.Least, s.Most = min(s.Least, v), max(s.Most, v)
	}
	return s
}

// column is a column of the table.
type column struct {
	title string
	of    func(*Outcome) float64
	form  func(float64) string
}

func columns(batch bool) []column {
	all := []column{
		{"replica-minutes", func(o *Outcome) float64 { return o.ReplicaMinutes }, decimals(1)},
		{"completed", func(o *Outcome) float64 { return float64(o.Completed) }, decimals(0)},
		{"refused", func(o *Outcome) float64 { return float64(o.Refused) }, decimals(0)},
		{"failed", func(o *Outcome) float64 { return float64(o.Failed) }, decimals(0)},
		{"p50", func(o *Outcome) float64 { return o.P50 }, seconds},
		{"p90", func(o *Outcome) float64 { return o.P90 }, seconds},
		{"p99", func(o *Outcome) float64 { return o.P99 }, seconds},
	}
	if batch {
		return append([]column{{"wall time", func(o *Outcome) float64 { return o.Wall }, seconds}}, all...)
	}
	return append(all,
		column{"W/s", func(o *Outcome) float64 { return o.SteadyInflation }, decimals(2)},
		column{"replicas", func(o *Outcome) float64 { return o.SteadyReplicas }, decimals(1)},
		column{"min", func(o *Outcome) float64 { return float64(o.SteadyMin) }, decimals(1)},
		column{"max", func(o *Outcome) float64 { return float64(o.SteadyMax) }, decimals(1)},
		column{"changes/h", func(o *Outcome) float64 { return o.SteadyChanges }, decimals(1)},
		column{"noise", func(o *Outcome) float64 { return 100 * o.SteadyNoise }, percent},
		column{"overshoot", func(o *Outcome) float64 { return float64(o.Overshoot) }, decimals(1)},
		column{"answer after", func(o *Outcome) float64 { return o.Answer }, secondsOrNever})
}

// Batch reports whether the runs have the wall time of a batch.
func (r *Report) Batch() bool {
	for _, p := range r.Policies {
		for _, o := range p.Runs {
			if o.Wall > 0 {
				return true
			}
		}
	}
	return false
}

// Table writes the report as text.
func (r *Report) Table(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\n", r.Scenario, r.About)
	switch {
	case !r.Searched:
	case r.Least == 0:
		fmt.Fprintf(out, "no fixed fleet found with %s\n", r.Wanted)
	default:
		fmt.Fprintf(out, "least fixed fleet with %s: %d replicas\n", r.Wanted, r.Least)
	}
	if r.Interrupted {
		fmt.Fprintln(out, "interrupted: runs that are not complete end early, or are left out")
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	titles := []string{"policy"}
	all := columns(r.Batch())
	for _, c := range all {
		titles = append(titles, c.title)
	}
	fmt.Fprintln(t, strings.Join(titles, "\t")+"\t")
	for _, p := range r.Policies {
		fmt.Fprintln(t, strings.Join(p.row(all), "\t")+"\t")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "means over %d seeds, fewest and most in JSON; W/s, replicas, min, max and changes/h from %s on\n",
		r.seeds(), asDuration(r.Settle))
	return err
}

func (r *Report) seeds() (n int) {
	for _, p := range r.Policies {
		n = max(n, len(p.Runs))
	}
	return n
}

func (r *Result) row(all []column) []string {
	cells := []string{r.title()}
	for _, c := range all {
		cells = append(cells, c.form(r.Over(c.of).Mean))
	}
	return cells
}

func decimals(n int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", n, v) }
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", v) }

// seconds formats a time with three significant digits.
func seconds(v float64) string {
	switch {
	case v == 0:
		return "0s"
	case v < 1:
		return fmt.Sprintf("%.3gms", v*1000)
	case v < 100:
		return fmt.Sprintf("%.3gs", v)
	}
	return asDuration(v).Round(time.Second).String()
}

func secondsOrNever(v float64) string {
	if v < 0 {
		return "never"
	}
	return asDuration(v).Round(time.Second).String()
}
