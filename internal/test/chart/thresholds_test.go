package chart_test

import (
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func TestAdmissionThresholdStandsAboveTheScaler(t *testing.T) {
	for _, tc := range []struct{ name, values, want string }{
		{"default", "", "3"},
		{"low-scaling", "serverLoadThreshold: 1.5", "3"},
		{"high-scaling", "serverLoadThreshold: 4", "6"},
		{"large", "serverLoadThreshold: 1000000", "1500000"},
		{"given", "serverAdmissionThreshold: 2.25", "2.25"},
		{"own-metric", ownMetric + "serverLoadThreshold: 0.5", "0.5"},
		{"own-metric-given", ownMetric + "serverLoadThreshold: 20\nserverAdmissionThreshold: 30", "30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := render.Define(manifest.Chart(t), manifest.Values(t, tc.values), manifest.Options, "supersonic.scaling.admissionThreshold")
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %s", got, err, tc.want)
			}
		})
	}
}
