package chart_test

import (
	"strconv"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/values"
)

// thresholds fails unless the chart's numbers are those that Go reads.
func thresholds(t *testing.T, c valuesCase, s values.Scaling) {
	t.Helper()
	for define, want := range map[string]float64{
		"supersonic.scaling.scalingThreshold":   s.Thresholds.Scaling,
		"supersonic.scaling.admissionThreshold": s.Thresholds.Admission,
	} {
		text, err := render.Define(manifest.Chart(t), c.vals, c.options(), define)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := strconv.ParseFloat(text, 64); err != nil || got != want {
			t.Errorf("%s: got %q, want %g", define, text, want)
		}
	}
}

func TestThresholdsAreThoseOfTheLibrary(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) { thresholds(t, c, c.scaling(t)) })
}
