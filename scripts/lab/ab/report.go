package ab

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html
var page string

// A Report is the page of a comparison.
type Report struct {
	Versions string
	Dates    string
	Loads    []Section
}

// A Section is the part of a report about one load.
type Section struct {
	Name, Says string
	Plot       template.HTML
	Rows       []Row
}

// A Row is one arm: for each measure the median of the runs, and their range.
type Row struct {
	Arm, Says string
	Runs      int
	Cells     []string
}

// columns of the table, with their measure.
var columns = []struct {
	Head   string
	format string
	value  func(Measures) float64
}{
	{"replica-minutes", "%.1f", func(m Measures) float64 { return m.ReplicaMinutes }},
	{"requests completed", "%.0f", func(m Measures) float64 { return m.Completed }},
	{"requests per replica-minute", "%.0f", func(m Measures) float64 { return m.Completed / max(m.ReplicaMinutes, 0.1) }},
	{"requests failed", "%.0f", func(m Measures) float64 { return m.Failed }},
	{"mean (s)", "%.3f", func(m Measures) float64 { return m.Mean }},
	{"p50 (s)", "%.3f", func(m Measures) float64 { return m.P50 }},
	{"p90 (s)", "%.3f", func(m Measures) float64 { return m.P90 }},
	{"p99 (s)", "%.3f", func(m Measures) float64 { return m.P99 }},
	{"scale changes", "%.0f", func(m Measures) float64 { return m.Changes }},
	{"overshoot (replicas)", "%.0f", func(m Measures) float64 { return m.Overshoot }},
	{"steady for (s)", "%.0f", func(m Measures) float64 { return m.Steady }},
}

// Heads are the table's column titles.
func (Report) Heads() []string {
	var heads []string
	for _, c := range columns {
		heads = append(heads, c.Head)
	}
	return heads
}

// NewReport makes a report of outcomes.
func NewReport(all []Outcome, versions string) (Report, error) {
	r := Report{Versions: versions}
	var dates []string
	for _, l := range Loads {
		s := Section{Name: l.Name, Says: l.Says}
		for _, arm := range l.arms() {
			var measured []Measures
			for _, o := range all {
				if o.Load == l.Name && o.Arm == arm.Name {
					measured = append(measured, l.Measure(o))
					dates = append(dates, o.Date)
				}
			}
			if len(measured) > 0 {
				s.Rows = append(s.Rows, Row{Arm: arm.Name, Says: arm.Says, Runs: len(measured), Cells: cells(measured)})
			}
		}
		if len(s.Rows) == 0 {
			continue
		}
		var err error
		if s.Plot, err = l.courses(all); err != nil {
			return r, err
		}
		r.Loads = append(r.Loads, s)
	}
	slices.Sort(dates)
	r.Dates = strings.Join(slices.Compact(dates), ", ")
	return r, nil
}

// cells are the median of each measure and, where the runs differ, their range.
func cells(runs []Measures) []string {
	var out []string
	for _, c := range columns {
		var values []float64
		for _, m := range runs {
			values = append(values, c.value(m))
		}
		slices.Sort(values)
		middle, low, high := values[len(values)/2], values[0], values[len(values)-1]
		text := fmt.Sprintf(c.format, middle)
		if l, h := fmt.Sprintf(c.format, low), fmt.Sprintf(c.format, high); l != h {
			text += fmt.Sprintf(" (%s to %s)", l, h)
		}
		out = append(out, text)
	}
	return out
}

// Write writes the page.
func (r Report) Write(w io.Writer) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}
