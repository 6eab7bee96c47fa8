package proxy

import (
	"bytes"
	"fmt"
	"image/color"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/fastmachinelearning/supersonic/internal/test/golden"
)

// pictured holds the panels of the main dashboard in the documentation, by row, each with the unit of its vertical axis.
var pictured = [][]struct{ title, unit string }{
	{{"Requests in flight and serving", "requests"}, {"Occupancy ratio and thresholds", "ratio (no unit)"}},
	{{"Replicas: wanted, ready and running", "replicas"}, {"Gate", "calls per second"}},
}

const (
	pictureWidth  = 26 * vg.Centimeter
	pictureHeight = 15 * vg.Centimeter
)

// lineColors are distinct also for people with color blindness.
var lineColors = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xff},
	color.RGBA{0xD5, 0x5E, 0x00, 0xff},
	color.RGBA{0x00, 0x9E, 0x73, 0xff},
	color.RGBA{0xCC, 0x79, 0xA7, 0xff},
	color.RGBA{0x56, 0xB4, 0xE9, 0xff},
	color.RGBA{0x66, 0x66, 0x66, 0xff},
}

// TestPictureOfTheDashboard draws the panels of the rendered dashboard on the recording.
func TestPictureOfTheDashboard(t *testing.T) {
	s := recorded(t)
	panels := map[string]panel{}
	for _, p := range renderedDashboards(t, "prometheus: {enabled: true}\ngrafana: {enabled: true}\nkeda: {enabled: true}\n")["default.json"] {
		panels[p.Title] = p
	}
	plots := make([][]*plot.Plot, len(pictured))
	legends := make([][]legend, len(pictured))
	for i, row := range pictured {
		for _, p := range row {
			drawn, names := drawPanel(t, s, panels[p.title])
			drawn.Y.Label.Text = p.unit
			plots[i], legends[i] = append(plots[i], drawn), append(legends[i], names)
		}
	}
	canvas := vgsvg.New(pictureWidth, pictureHeight)
	tiles := draw.Tiles{Rows: len(pictured), Cols: len(pictured[0]), PadX: vg.Centimeter, PadY: vg.Centimeter / 2, PadRight: vg.Centimeter / 2}
	for i, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for j, at := range row {
			plots[i][j].Draw(at)
			legends[i][j].drawAbove(plots[i][j].DataCanvas(at))
		}
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		t.Fatal(err)
	}
	golden.CompareDir(t, "../../../docs/pictures/recorded", map[string]string{"dashboard.svg": svg.String()})
}

func drawPanel(t *testing.T, s storage.Storage, p panel) (*plot.Plot, legend) {
	t.Helper()
	drawn := emptyPlot(p.Title)
	var names legend
	lines := 0
	for _, target := range p.Targets {
		for _, series := range evaluateRange(t, s, target.Expr) {
			if flat(series) && len(legendLabel.FindString(target.LegendFormat)) > 0 {
				continue // outcomes that never happened
			}
			points := make(plotter.XYs, len(series.Floats))
			for i, f := range series.Floats {
				points[i] = plotter.XY{X: float64(f.T) / 1000, Y: f.F}
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				t.Fatal(err)
			}
			line.Color, line.Width = lineColors[lines%len(lineColors)], vg.Points(1.5)
			if lines == 2 {
				line.Dashes = []vg.Length{vg.Points(5), vg.Points(4)} // the lines below it stay visible
			}
			name := legendLabel.ReplaceAllStringFunc(target.LegendFormat, func(label string) string {
				return series.Metric.Get(label[2 : len(label)-2])
			})
			drawn.Add(line)
			names = append(names, legendEntry(name, line))
			lines++
		}
	}
	if lines == 0 {
		t.Errorf("the panel %q shows nothing", p.Title)
	}
	drawn.Y.Max *= 1.05 // the highest line stays below the frame
	return drawn, names
}

// A legend is above its panel, on one line, so that it covers nothing.
type legend []plot.Legend

const (
	legendHeight = vg.Length(18)
	legendGap    = vg.Length(12)
)

func legendEntry(name string, line *plotter.Line) plot.Legend {
	l := plot.NewLegend()
	l.Left, l.Top, l.Padding = true, true, vg.Points(2)
	l.ThumbnailWidth = vg.Points(14)
	l.TextStyle.Font.Variant, l.TextStyle.Font.Size = "Sans", vg.Points(10)
	l.Add(name, line)
	return l
}

func (l legend) drawAbove(data draw.Canvas) {
	at := data
	at.Min.Y, at.Max.Y = data.Max.Y, data.Max.Y+legendHeight
	for _, entry := range l {
		entry.Draw(at)
		at.Min.X += entry.Rectangle(at).Size().X + legendGap
	}
}

func emptyPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, "time (seconds)"
	p.Title.Padding = legendHeight + vg.Points(4)
	p.Y.Min = 0
	p.X.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"},
		{Value: 60, Label: "60"},
		{Value: 120, Label: "120"},
		{Value: 180, Label: "180"},
		{Value: 240, Label: "240"},
	}
	p.Y.Tick.Marker = plot.TickerFunc(func(least, most float64) []plot.Tick {
		var ticks []plot.Tick
		for _, tick := range (plot.DefaultTicks{}).Ticks(least, most) {
			if tick.Label != "" {
				ticks = append(ticks, plot.Tick{Value: tick.Value, Label: fmt.Sprint(tick.Value)})
			}
		}
		return ticks
	})
	for _, style := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	return p
}

func flat(series promql.Series) bool {
	for _, f := range series.Floats {
		if f.F != 0 {
			return false
		}
	}
	return true
}

func evaluateRange(t *testing.T, s storage.Storage, expr string) promql.Matrix {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 0, 100000)
	query, err := engine.NewRangeQuery(t.Context(), s, nil, grafanaVariables.Replace(expr), time.Unix(10, 0), recordingEnd, recordInterval)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	t.Cleanup(query.Close)
	matrix, err := query.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return matrix
}
