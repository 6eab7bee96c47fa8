package ab

import (
	"bytes"
	"html/template"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colours of the arms, told apart by people who see red and green alike.
var colours = []color.RGBA{
	{R: 0xd5, G: 0x5e, A: 0xff}, {R: 0xe6, G: 0x9f, A: 0xff}, {G: 0x72, B: 0xb2, A: 0xff}, {R: 0x99, G: 0x99, B: 0x99, A: 0xff},
}

// draws the sizes of every run of a load over time: a line for each run, in the
// colour of its arm.
func courses(name string, all []Outcome) (template.HTML, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "seconds", "servers wanted"
	p.Y.Min, p.Legend.Top = 0, true
	for i, arm := range Arms {
		named := false
		for _, o := range all {
			if o.Load != name || o.Arm != arm.Name {
				continue
			}
			line, err := plotter.NewLine(steps(o))
			if err != nil {
				return "", err
			}
			line.StepStyle = plotter.PostStep
			line.Color, line.Width = colours[i], vg.Points(1.5)
			p.Add(line)
			if !named {
				p.Legend.Add(arm.Name, line)
				named = true
			}
		}
	}
	canvas := vgsvg.New(7*vg.Inch, 3*vg.Inch)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	// From <svg on: an XML declaration has no place inside a page.
	return template.HTML(out.Bytes()[bytes.Index(out.Bytes(), []byte("<svg")):]), nil
}

// steps are a course's points, until the end of the load.
func steps(o Outcome) plotter.XYs {
	end := o.Calls.Lasted
	points := make(plotter.XYs, 0, len(o.Course)+1)
	last := 0.0
	for _, s := range o.Course {
		if s.At > end {
			break
		}
		last = float64(s.Wanted)
		points = append(points, plotter.XY{X: s.At.Seconds(), Y: last})
	}
	return append(points, plotter.XY{X: end.Seconds(), Y: last})
}
