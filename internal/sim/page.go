package sim

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed page.html advice.html style.html
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "*.html"))

// Page writes the report as one self-contained HTML page.
func (r *Report) Page(out io.Writer) error {
	data := struct {
		*Report
		Columns []string
		Rows    [][]cell
		Trade   template.HTML
		Courses []course
		Length  time.Duration
		From    time.Duration
		Seeds   int
	}{Report: r, Length: asDuration(r.Seconds), From: asDuration(r.Settle), Seeds: r.seeds()}
	all := columns(r.Batch())
	for _, c := range all {
		data.Columns = append(data.Columns, c.title)
	}
	for i := range r.Policies {
		data.Rows = append(data.Rows, r.Policies[i].cells(all))
	}
	var err error
	if data.Trade, err = r.trade(); err != nil {
		return err
	}
	if data.Courses, err = r.courses(); err != nil {
		return err
	}
	return pages.ExecuteTemplate(out, "page.html", data)
}

// cell is a mean, and the range of the runs if they differ.
type cell struct{ Mean, Range string }

func (r *Result) cells(all []column) []cell {
	cells := []cell{{Mean: r.title()}}
	for _, c := range all {
		s := r.Over(c.of)
		text := cell{Mean: c.form(s.Mean)}
		if least, most := c.form(s.Least), c.form(s.Most); least != most {
			text.Range = fmt.Sprintf("%s to %s", least, most)
		}
		cells = append(cells, text)
	}
	return cells
}

// title is the name of the policy, with the size of the least fixed fleet.
func (r *Result) title() string {
	if r.Name == leastFleet {
		return fmt.Sprintf("%s (%d)", r.Name, r.Fixed)
	}
	return r.Name
}

func asDuration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
