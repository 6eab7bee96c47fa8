package sim

import (
	"bytes"
	"html/template"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Page writes the advice as one self-contained HTML page.
func (a *Advice) Page(out io.Writer) error {
	drawn, err := a.frontier()
	if err != nil {
		return err
	}
	var values bytes.Buffer
	if err := a.YAML(&values); err != nil {
		return err
	}
	type rows struct {
		Header []string
		Rows   [][]string
	}
	return pages.ExecuteTemplate(out, "advice.html", struct {
		*Advice
		Title, YAML     string
		Notes           []string
		Compared, Front rows
		Frontier        template.HTML
	}{a, a.title(), values.String(), a.notes(), rows{a.header()[1:], a.summary()}, rows{a.header()[1:], a.frontRows()}, drawn})
}

// beyond is how many times the goal the plot reaches; candidates further away are left out.
const beyond = 3

// frontier plots the number that the goal limits against cost: a point for each
// candidate, and lines for the front and the goal.
func (a *Advice) frontier() (template.HTML, error) {
	unit := ""
	if a.Measure == "p90" {
		unit = ", seconds"
	}
	d := frontierPlot{Plot: newPlot("replica-minutes", a.Measure+unit)}
	d.Legend.Top = true
	d.Y.Max = beyond * a.Limit
	if a.Chosen.Reached > a.Limit {
		d.Y.Max = beyond * a.Chosen.Reached
	}
	var all, front []*Try
	for _, t := range a.Tried {
		if t.Reached > d.Y.Max {
			continue
		}
		if all = append(all, t); t.Front {
			front = append(front, t)
		}
		d.X.Max = max(d.X.Max, 1.35*t.ReplicaMinutes)
	}
	d.points("candidates", all, 6, 2)
	d.line("nothing cheaper beats", at(front), 0)
	d.line("wanted", plotter.XYs{{Y: a.Limit}, {X: d.X.Max, Y: a.Limit}}, 1, vg.Points(4), vg.Points(3))
	if a.Today != nil && a.Today.Reached <= d.Y.Max {
		d.points(a.Today.name, []*Try{a.Today}, 3, 4)
	}
	if a.Fixed != nil {
		d.points(leastFleet, []*Try{a.Fixed}, 2, 4)
	}
	d.points(a.title(), []*Try{a.Chosen}, 1, 5)
	if d.err != nil {
		return "", d.err
	}
	return inline("replica-minutes and "+a.Measure+" of each candidate", 10*vg.Centimeter, d.Plot)
}

func at(all []*Try) (points plotter.XYs) {
	for _, t := range all {
		points = append(points, plotter.XY{X: t.ReplicaMinutes, Y: t.Reached})
	}
	return points
}

// A frontierPlot keeps the first error.
type frontierPlot struct {
	*plot.Plot
	err error
}

func (p *frontierPlot) points(name string, all []*Try, color int, radius vg.Length) {
	if len(all) == 0 || p.err != nil {
		return
	}
	scatter, err := plotter.NewScatter(at(all))
	if err != nil {
		p.err = err
		return
	}
	scatter.Color, scatter.Shape, scatter.Radius = colors[color], draw.CircleGlyph{}, radius
	p.Add(scatter)
	p.Legend.Add(name, scatter)
}

func (p *frontierPlot) line(name string, points plotter.XYs, color int, dashes ...vg.Length) {
	if len(points) == 0 || p.err != nil {
		return
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		p.err = err
		return
	}
	line.Color, line.Width, line.Dashes = colors[color], vg.Points(1.3), dashes
	p.Add(line)
	p.Legend.Add(name, line)
}
