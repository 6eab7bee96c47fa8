package sim

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colors can be told apart by people who are color-blind.
var colors = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff},
	{0xd5, 0x5e, 0x00, 0xff},
	{0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff},
	{0x56, 0xb4, 0xe9, 0xff},
	{0xe6, 0x9f, 0x00, 0xff},
	{0x66, 0x66, 0x66, 0xff},
}

const (
	plotWidth  = 29 * vg.Centimeter
	plotHeight = 6 * vg.Centimeter
)

// A course is the picture of a policy's first run over time.
type course struct {
	Title string
	Plot  template.HTML
}

// trade plots response time against cost, a point for each run.
func (r *Report) trade() (template.HTML, error) {
	p := newPlot("replica-minutes", "p90, seconds")
	p.Legend.Top = true
	for i := range r.Policies {
		result := &r.Policies[i]
		var points plotter.XYs
		for _, o := range result.Runs {
			points = append(points, plotter.XY{X: o.ReplicaMinutes, Y: o.P90})
			p.X.Max, p.Y.Max = max(p.X.Max, 1.6*o.ReplicaMinutes), max(p.Y.Max, 1.1*o.P90)
		}
		scatter, err := plotter.NewScatter(points)
		if err != nil {
			return "", err
		}
		scatter.Color, scatter.Radius, scatter.Shape = colors[i%len(colors)], vg.Points(3.5), draw.CircleGlyph{}
		p.Add(scatter)
		p.Legend.Add(result.title(), scatter)
	}
	return inline("replica-minutes and p90 of each policy", 8*vg.Centimeter, p)
}

// courses draws each policy's first run, all on the same axes.
func (r *Report) courses() ([]course, error) {
	unit, name := timeUnit(r.Seconds)
	mostReplicas, longest := 1.0, 0.0
	for i := range r.Policies {
		for _, p := range r.Policies[i].Runs[0].Course {
			mostReplicas = max(mostReplicas, float64(max(p.Pods, p.Wanted)))
			longest = max(longest, p.Took)
		}
	}
	var all []course
	for i := range r.Policies {
		o := r.Policies[i].Runs[0]
		sizes, times := newPlot(name, "replicas"), newPlot(name, "mean answer, seconds")
		sizes.Y.Max, times.Y.Max = 1.45*mostReplicas, 1.05*max(longest, 1e-3)
		sizes.X.Max, times.X.Max = r.Seconds/unit, r.Seconds/unit
		sizes.Legend.Top, sizes.Legend.Left = true, true
		for j, line := range []struct {
			name string
			on   *plot.Plot
			of   func(Point) float64
		}{
			{"hold a GPU", sizes, func(p Point) float64 { return float64(p.Pods) }},
			{"asked for", sizes, func(p Point) float64 { return float64(p.Wanted) }},
			{"", times, func(p Point) float64 { return p.Took }},
		} {
			if err := o.draw(line.on, line.name, unit, line.of, colors[(j+2)%3]); err != nil {
				return nil, err
			}
		}
		svg, err := inline("replicas and the mean time of an answer over time, "+r.Policies[i].title(), plotHeight, sizes, times)
		if err != nil {
			return nil, err
		}
		all = append(all, course{r.Policies[i].title(), svg})
	}
	return all, nil
}

// draw adds a line of the run's course.
func (o *Outcome) draw(on *plot.Plot, name string, unit float64, of func(Point) float64, c color.Color) error {
	if len(o.Course) == 0 {
		return nil
	}
	points := make(plotter.XYs, len(o.Course))
	for i, p := range o.Course {
		points[i] = plotter.XY{X: p.At.Seconds() / unit, Y: of(p)}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.3)
	on.Add(line)
	if name != "" {
		on.Legend.Add(name, line)
	}
	return nil
}

func timeUnit(seconds float64) (unit float64, name string) {
	switch {
	case seconds > 3*3600:
		return 3600, "hours"
	case seconds > 180:
		return 60, "minutes"
	}
	return 1, "seconds"
}

func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Min, p.Y.Min = 0, 0
	p.Legend.XOffs, p.Legend.Padding = vg.Points(6), vg.Points(2)
	p.Y.Tick.Marker, p.X.Tick.Marker = plot.TickerFunc(ticks), plot.TickerFunc(ticks)
	for _, style := range []*draw.TextStyle{
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	return p
}

// ticks are labeled with plain numbers; minor ticks are left out.
func ticks(least, most float64) []plot.Tick {
	var all []plot.Tick
	for _, t := range (plot.DefaultTicks{}).Ticks(least, most) {
		if t.Label != "" {
			all = append(all, plot.Tick{Value: t.Value, Label: fmt.Sprintf("%g", math.Round(t.Value*1e6)/1e6)})
		}
	}
	return all
}

// inline is a row of plots as an SVG element.
func inline(label string, height vg.Length, plots ...*plot.Plot) (template.HTML, error) {
	canvas := vgsvg.New(plotWidth, height)
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Centimeter, PadRight: vg.Points(8)}
	for i, at := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(canvas))[0] {
		plots[i].Draw(at)
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	// HTML has no XML declaration.
	svg := out.Bytes()[bytes.Index(out.Bytes(), []byte("<svg")):]
	named := fmt.Sprintf(`<svg role="img" aria-label="%s"`, template.HTMLEscapeString(label))
	return template.HTML(named + string(svg[len("<svg"):])), nil
}
