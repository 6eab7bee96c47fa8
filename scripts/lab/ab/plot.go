package ab

import (
	"bytes"
	"html/template"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colours of Arms, which color-blind readers can tell apart.
var colours = []color.RGBA{
	{R: 0xd5, G: 0x5e, A: 0xff},
	{R: 0xe6, G: 0x9f, A: 0xff},
	{G: 0x72, B: 0xb2, A: 0xff},
	{G: 0x9e, B: 0x73, A: 0xff},
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	{R: 0x99, G: 0x99, B: 0x99, A: 0xff},
}

type curve struct {
	label string
	of    func(Outcome) plotter.XYs
	steps bool
}

// curves are drawn in rows, with one tile for each arm.
var curves = []curve{
	{"replicas wanted", sizes, true},
	{"p90 latency (seconds)", latencies, false},
}

// courses draws the sizes and latencies over time: a column for each arm, a line for each run.
func (l Load) courses(all []Outcome) (template.HTML, error) {
	rows := make([][]*plot.Plot, len(curves))
	for i, curve := range curves {
		highest := 0.0
		for j, arm := range l.arms() {
			p := plot.New()
			p.X.Min, p.Y.Min = 0, 0
			if i == 0 {
				p.Title.Text = arm.Name
			} else {
				p.X.Label.Text = "time (seconds)"
			}
			if j == 0 {
				p.Y.Label.Text = curve.label
			}
			for _, o := range all {
				if o.Load != l.Name || o.Arm != arm.Name {
					continue
				}
				if err := curve.draw(p, o, colours[slices.IndexFunc(Arms, func(a Arm) bool { return a.Name == arm.Name })]); err != nil {
					return "", err
				}
			}
			highest = max(highest, p.Y.Max)
			rows[i] = append(rows[i], p)
		}
		for _, p := range rows[i] {
			p.Y.Max = highest
		}
	}
	return svg(rows)
}

// draw adds a run, if it has any point.
func (c curve) draw(p *plot.Plot, o Outcome, colour color.Color) error {
	p.X.Max = o.Seconds
	points := c.of(o)
	if len(points) == 0 {
		return nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	if c.steps {
		line.StepStyle = plotter.PostStep
	}
	line.Color, line.Width = colour, vg.Points(1.2)
	p.Add(line)
	return nil
}

// svg draws the plots with their axes in line.
func svg(rows [][]*plot.Plot) (template.HTML, error) {
	canvas := vgsvg.New(11*vg.Inch, vg.Length(len(rows))*2.2*vg.Inch)
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: vg.Points(8), PadY: vg.Points(8)}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		for j, tile := range row {
			rows[i][j].Draw(tile)
		}
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	// HTML has no XML declaration, so start at <svg.
	return template.HTML(out.Bytes()[bytes.Index(out.Bytes(), []byte("<svg")):]), nil
}

// sizes are a course's points, until the end of the load.
func sizes(o Outcome) plotter.XYs {
	points := make(plotter.XYs, 0, len(o.Course)+1)
	last := 0.0
	for _, s := range o.Course {
		if s.At > o.end() {
			break
		}
		last = float64(s.Wanted)
		points = append(points, plotter.XY{X: s.At.Seconds(), Y: last})
	}
	return append(points, plotter.XY{X: o.Seconds, Y: last})
}

func latencies(o Outcome) plotter.XYs {
	var points plotter.XYs
	for _, l := range o.Latencies {
		points = append(points, plotter.XY{X: l.At, Y: l.P90})
	}
	return points
}
