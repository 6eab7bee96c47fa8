package chart_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/values"
	"github.com/fastmachinelearning/supersonic/promql"
)

// on reports whether a switch is on, in the user's values or by default.
func (c valuesCase) on(t testing.TB, path ...string) bool {
	t.Helper()
	all, err := render.Values(manifest.Chart(t), c.vals)
	if err != nil {
		t.Fatal(err)
	}
	var node any = all
	for _, word := range path {
		node = node.(map[string]any)[word]
	}
	return node == true
}

// same checks that the chart's text is the library's query, as an expression and, for
// a custom metric, as text too.
func same(t *testing.T, what, text string, s values.Scaling, build func() (promql.Query, error)) {
	t.Helper()
	want, err := build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := promql.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, text)
	}
	if !got.Equal(want) {
		t.Errorf("%s: the chart asks\n%s\nand the library\n%s", what, got, want)
	}
	if s.Custom() && strings.TrimSpace(text) != strings.TrimSpace(want.String()) {
		t.Errorf("%s: the chart changes the user's metric\n%s\nto\n%s", what, want, text)
	}
}

// ask returns the builder of a query in the catalogue.
func ask(s values.Scaling, name string) func() (promql.Query, error) {
	return func() (promql.Query, error) {
		for _, q := range promql.Queries() {
			if q.Name == name {
				return s.Query(q)
			}
		}
		return promql.Query{}, fmt.Errorf("%s: no such query", name)
	}
}

// The ScaledObject has the library's query.
func TestScaledObjectQuery(t *testing.T) {
	tried := 0
	for _, c := range cases(t) {
		if !c.on(t, "keda", "enabled") {
			continue
		}
		tried++
		t.Run(c.name, func(t *testing.T) {
			query, err := c.manifests(t).ScaledObjectQuery()
			if err != nil {
				t.Fatal(err)
			}
			s := c.scaling(t)
			same(t, "ScaledObject", query, s, ask(s, "needed-replicas"))
		})
	}
	if tried == 0 {
		t.Error("no values file has keda.enabled")
	}
}

// The gate has the library's query.
func TestGateQuery(t *testing.T) {
	tried := 0
	for _, c := range cases(t) {
		if !c.on(t, "envoy", "enabled") || !c.on(t, "envoy", "rate_limiter", "prometheus_based", "enabled") {
			continue
		}
		tried++
		t.Run(c.name, func(t *testing.T) {
			query, err := c.manifests(t).GateQuery()
			if err != nil {
				t.Fatal(err)
			}
			s := c.scaling(t)
			same(t, "gate", query, s, ask(s, "occupancy-ratio"))
		})
	}
	if tried == 0 {
		t.Error("no values file has envoy.rate_limiter.prometheus_based.enabled")
	}
}

// For every values file, the chart maps the values to the library's queries, whether
// or not they are used.
func TestScaling(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		s := c.scaling(t)
		for define, build := range map[string]func() (promql.Query, error){
			"supersonic.scaling.neededReplicas": ask(s, "needed-replicas"),
			"supersonic.scaling.occupancyRatio": ask(s, "occupancy-ratio"),
			"supersonic.scaling.wakeUp":         func() (promql.Query, error) { return promql.WakeUp(s.Params) },
		} {
			text, err := render.Define(manifest.Chart(t), c.vals, c.options(), define)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(define, "wakeUp") {
				same(t, define, text, values.Scaling{}, build)
			} else {
				same(t, define, text, s, build)
			}
		}
	})
}

// The same for combinations of values that no values file has.
func TestScalingOfOtherValues(t *testing.T) {
	for name, vals := range map[string]map[string]any{
		"defaults":            {},
		"name-override":       {"nameOverride": "other"},
		"interval-in-seconds": {"serverLoadRateInterval": "90s"},
		"instant-larger":      {"serverLoadReplicas": "instant", "serverLoadInFlight": "larger"},
		"think-time":          {"serverLoadThinkTime": "1500ms", "serverLoadUtilization": 0.75, "serverLoadThreshold": 1.5},
		"think-time-days":     {"serverLoadThinkTime": "1d", "serverLoadUtilization": 1, "serverLoadInFlight": "active"},
		"think-time-none":     {"serverLoadThinkTime": "0ms", "serverLoadInFlight": "active"},
		"think-time-measured": {"serverLoadThinkTime": "measured", "serverLoadThreshold": 2e6},
		"excluded-models":     {"serverLoadExcludeModels": []any{"ensemble", `a"b\c`, "x|y.*"}},
		"own-selectors": {"serverLoadSelector": map[string]any{
			"envoy": ` { job="envoy", pod=~"a|b" } `, "triton": `job!="x",`,
		}},
		"half-own-selectors": {"serverLoadSelector": map[string]any{"envoy": `job="}{"`}},
		"empty-selectors":    {"serverLoadSelector": map[string]any{"envoy": "{}", "triton": " "}},
		"own-metric":         {"serverLoadMetric": `max({__name__=~"a.*", x="{{ .Values.y }}"})`},
		"thresholds":         {"serverLoadThreshold": 1.5, "serverAdmissionThreshold": 2.25},
		"large-thresholds":   {"serverLoadThreshold": 2e6},
		"own-metric-number":  {"serverLoadMetric": "up", "serverLoadThreshold": 1e7},
	} {
		t.Run(name, func(t *testing.T) {
			c := valuesCase{name: name, release: "sonic", namespace: "cms", vals: vals}
			s := c.scaling(t)
			for define, build := range map[string]func() (promql.Query, error){
				"supersonic.scaling.neededReplicas": ask(s, "needed-replicas"),
				"supersonic.scaling.occupancyRatio": ask(s, "occupancy-ratio"),
			} {
				text, err := render.Define(manifest.Chart(t), c.vals, c.options(), define)
				if err != nil {
					t.Fatal(err)
				}
				same(t, define, text, s, build)
			}
			thresholds(t, c, s)
		})
	}
}

// The admission threshold is above the scaling threshold.
func TestAdmissionThreshold(t *testing.T) {
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

// thresholds checks that the chart's numbers are those of package values.
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

func TestThresholds(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) { thresholds(t, c, c.scaling(t)) })
}
