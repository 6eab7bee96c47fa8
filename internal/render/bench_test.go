package render_test

import (
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// BenchmarkChart renders the largest values file, and takes turns with Helm's
// engine alone on the same chart and values. The budget of the ratio is 1.5.
func BenchmarkChart(b *testing.B) {
	user, err := render.Inputs{Files: []string{"../../values/values-minimal-full.yaml"}}.Merge()
	if err != nil {
		b.Fatal(err)
	}
	chart, o := manifest.Chart(b), render.Options{Release: "supersonic", Namespace: "cms", KubeVersion: "1.34", Strict: true}
	all, err := render.Values(chart, user.Values)
	if err != nil {
		b.Fatal(err)
	}
	alone := func() error {
		_, err := engine.Engine{}.Render(chart.Chart, chartutil.Values{
			"Values":       chartutil.Values(all),
			"Chart":        chart.Metadata,
			"Capabilities": chartutil.DefaultCapabilities,
			"Release": map[string]any{
				"Name": o.Release, "Namespace": o.Namespace, "Service": "Helm", "Revision": 1, "IsInstall": true, "IsUpgrade": false,
			},
		})
		return err
	}
	ours := func() error {
		_, err := render.Chart(chart, user.Values, o)
		return err
	}
	var engineTime, chartTime time.Duration
	for b.Loop() {
		engineTime += timed(b, alone)
		chartTime += timed(b, ours)
	}
	ratio := float64(chartTime) / float64(engineTime)
	b.ReportMetric(ratio, "x-engine")
	if ratio > 1.5 {
		b.Errorf("a render takes %.2f times what the engine takes, want at most 1.5", ratio)
	}
	b.ReportMetric(float64(chartTime.Milliseconds())/float64(b.N), "ms/render")
}

func timed(b *testing.B, run func() error) time.Duration {
	b.Helper()
	start := time.Now()
	if err := run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
