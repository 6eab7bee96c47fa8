package envoy

import (
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics holds the metrics that an Envoy exports, by name.
type Metrics map[string]*dto.MetricFamily

// Metrics reads the metrics that Envoy exports.
func (e *Envoy) Metrics(t testing.TB) Metrics {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(e.Get(t, "/stats/prometheus")))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Sum returns the sum and the number of the series of a counter or gauge with the given labels (key, value, …).
func (m Metrics) Sum(name string, labels ...string) (sum float64, series int) {
	for _, metric := range m[name].GetMetric() {
		if !has(metric, labels) {
			continue
		}
		series++
		sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return sum, series
}

// Value returns the sum of the series of a counter or gauge with the given labels. The test fails if there is none.
func (e *Envoy) Value(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	sum, series := e.Metrics(t).Sum(name, labels...)
	if series == 0 {
		t.Fatalf("envoy exports no %s with %q", name, labels)
	}
	return sum
}

func has(metric *dto.Metric, labels []string) bool {
	values := map[string]string{}
	for _, l := range metric.GetLabel() {
		values[l.GetName()] = l.GetValue()
	}
	for i := 0; i+1 < len(labels); i += 2 {
		if values[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}
