package sim_test

import (
	"bytes"
	"image/color"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/fastmachinelearning/supersonic/internal/sim"
	"github.com/fastmachinelearning/supersonic/internal/test/golden"
)

// TestClientsThatThink compares the formula for clients that think with the smallest fixed fleet whose mean response time
// is within the threshold. Starting at one replica it takes at most 1.15 times the replica-minutes, and at rest at most 6
// changes an hour. Random arrivals take more: the utilization of 0.9 alone accounts for 1.11 times.
func TestClientsThatThink(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; run without -short")
	}
	for _, tc := range []struct {
		scenario, policy string
		least, within    float64 // replicas of the least fixed fleet, as simulate finds them; times its replica-minutes
	}{
		{"waiting-40", "measured", 21, 1.15},
		{"thinking-400", "measured", 34, 1.15},
		{"thinking-1000", "measured", 25, 1.15},
		{"thinking-concurrent", "measured", 34, 1.15},
		{"open-200", "think-60s", 21, 1.2},
	} {
		t.Run(tc.scenario, func(t *testing.T) {
			t.Parallel()
			r := compared(t, tc.scenario, 2, tc.policy)
			minutes := mean(t, r, tc.policy, func(o *sim.Outcome) float64 { return o.ReplicaMinutes })
			fixed := tc.least * r.Seconds / 60
			changes := mean(t, r, tc.policy, func(o *sim.Outcome) float64 { return o.SteadyChanges })
			took := mean(t, r, tc.policy, func(o *sim.Outcome) float64 { return o.SteadyInflation })
			if minutes > tc.within*fixed || changes > 6 || took > 2.05 {
				t.Errorf("%.0f replica-minutes, %.1f changes an hour, %.2f times the service time; want at most %.0f, 6 and 2",
					minutes, changes, took, tc.within*fixed)
			}
		})
	}
}

// TestPictureOfClientsThatThink draws the fleets of both laws, for the docs.
func TestPictureOfClientsThatThink(t *testing.T) {
	r := compared(t, "thinking-400", 1, "built-in", "measured")
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "time (minutes)", "replicas"
	p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 260 // the legend above the lines
	p.Legend.Top = true
	for _, style := range []*draw.TextStyle{
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	for i, line := range []struct{ policy, name string }{
		{"built-in", "serverLoadThinkTime: 0s"},
		{"measured", "serverLoadThinkTime: measured"},
	} {
		var points plotter.XYs
		for _, at := range result(t, r, line.policy).Runs[0].Course {
			points = append(points, plotter.XY{X: at.At.Minutes(), Y: float64(at.Pods)})
		}
		addLine(t, p, line.name, points, []color.Color{color.RGBA{0xD5, 0x5E, 0, 0xff}, color.RGBA{0, 0x72, 0xB2, 0xff}}[i])
	}
	const least = 34 // as simulate finds it
	addLine(t, p, "least fixed fleet within twice the service time", plotter.XYs{{X: 0, Y: least}, {X: 180, Y: least}}, color.Gray{0x66})
	canvas := vgsvg.New(22*vg.Centimeter, 9*vg.Centimeter)
	p.Draw(draw.Crop(draw.New(canvas), 0, -vg.Points(8), 0, 0))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		t.Fatal(err)
	}
	golden.CompareDir(t, "../../docs/pictures/simulated", map[string]string{"thinking.svg": svg.String()})
}

func addLine(t *testing.T, p *plot.Plot, name string, points plotter.XYs, c color.Color) {
	t.Helper()
	line, err := plotter.NewLine(points)
	if err != nil {
		t.Fatal(err)
	}
	line.Color, line.Width = c, vg.Points(1.5)
	p.Add(line)
	p.Legend.Add(name, line)
}
