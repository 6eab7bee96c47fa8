package values

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/promql"
)

// with are the chart's defaults and what a user sets over them.
func with(user map[string]any) map[string]any {
	vals := map[string]any{
		"nameOverride":             "",
		"serverLoadMetric":         "",
		"serverLoadThreshold":      2.0,
		"serverLoadRateInterval":   "1m",
		"serverLoadReplicas":       "windowed",
		"serverLoadInFlight":       "completed",
		"serverLoadThinkTime":      "0s",
		"serverLoadUtilization":    0.9,
		"serverLoadExcludeModels":  []any{},
		"serverAdmissionThreshold": nil,
		"serverLoadSelector":       map[string]any{"envoy": "", "triton": ""},
	}
	maps.Copy(vals, user)
	return vals
}

func gateOn(user map[string]any) map[string]any {
	user["envoy"] = map[string]any{"rate_limiter": map[string]any{"prometheus_based": map[string]any{"enabled": true}}}
	return user
}

func TestReadGivesParams(t *testing.T) {
	defaults := promql.ForRelease("sonic", "cms")
	own, err := promql.ParseSelector(`job="envoy"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		user map[string]any
		want func(*promql.Params)
	}{
		{"defaults", nil, func(*promql.Params) {}},
		{"name-override", map[string]any{"nameOverride": "other"}, func(p *promql.Params) {
			*p = promql.ForRelease("other", "cms")
		}},
		{"rate-interval", map[string]any{"serverLoadRateInterval": "1m30s"}, func(p *promql.Params) {
			p.RateInterval = 90 * time.Second
		}},
		{"instant", map[string]any{"serverLoadReplicas": "instant"}, func(p *promql.Params) {
			p.Replicas = promql.Instant
		}},
		{"think-time", map[string]any{"serverLoadThinkTime": "1500ms", "serverLoadUtilization": 1}, func(p *promql.Params) {
			p.ThinkTime, p.Utilization = 1500*time.Millisecond, 1
		}},
		{"think-time-measured", map[string]any{"serverLoadThinkTime": "measured", "serverLoadThreshold": 1.5}, func(p *promql.Params) {
			p.ThinkTime, p.InFlight, p.Threshold = promql.Measured, promql.Active, 1.5
		}},
		{"larger", map[string]any{"serverLoadInFlight": "larger"}, func(p *promql.Params) {
			p.InFlight = promql.Larger
		}},
		{"excluded-models", map[string]any{"serverLoadExcludeModels": []any{"a", "b"}}, func(p *promql.Params) {
			p.ExcludeModels = []string{"a", "b"}
		}},
		{"own-selector", map[string]any{"serverLoadSelector": map[string]any{"envoy": `{job="envoy"}`, "triton": ""}}, func(p *promql.Params) {
			p.Envoy = own
		}},
		{"empty-braces", map[string]any{"serverLoadSelector": map[string]any{"envoy": " { } ", "triton": ""}}, func(*promql.Params) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := defaults
			tc.want(&want)
			got, err := Read(with(tc.user), "sonic", "cms")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Params); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadGivesThresholds(t *testing.T) {
	for _, tc := range []struct {
		name string
		user map[string]any
		want promql.Thresholds
	}{
		{"defaults", nil, promql.Thresholds{Scaling: 2, Admission: 3}},
		{"far-above-a-large-scaling-threshold", map[string]any{"serverLoadThreshold": 4.0}, promql.Thresholds{Scaling: 4, Admission: 6}},
		{"whole-number-of-a-flag", map[string]any{"serverLoadThreshold": int64(4)}, promql.Thresholds{Scaling: 4, Admission: 6}},
		{"fraction", map[string]any{"serverLoadThreshold": 1.5}, promql.Thresholds{Scaling: 1.5, Admission: 3}},
		{"set", map[string]any{"serverAdmissionThreshold": 5.0}, promql.Thresholds{Scaling: 2, Admission: 5}},
		{"custom-metric", map[string]any{"serverLoadMetric": "up", "serverLoadThreshold": 20.0}, promql.Thresholds{Scaling: 20, Admission: 20}},
		{
			"custom-metric-below",
			map[string]any{"serverLoadMetric": "up", "serverAdmissionThreshold": 1.0},
			promql.Thresholds{Scaling: 2, Admission: 1},
		},
		{"gate-off", map[string]any{"serverAdmissionThreshold": 1.0}, promql.Thresholds{Scaling: 2, Admission: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read(with(tc.user), "sonic", "cms")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Thresholds); diff != "" {
				t.Errorf("thresholds (-want +got):\n%s", diff)
			}
		})
	}
}

// A custom metric takes the place of both queries, verbatim.
func TestCustomMetric(t *testing.T) {
	const own = "sum by (x)(  up )\n"
	s, err := Read(with(map[string]any{"serverLoadMetric": own}), "sonic", "cms")
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range promql.Queries() {
		q, err := s.Query(named)
		if compared := named.Threshold != nil; err != nil || (q.String() == own) != compared {
			t.Errorf("%s: got %q, %v", named.Name, q, err)
		}
	}
}

// Every invalid value is listed, by the key that its user knows.
func TestReadListsErrors(t *testing.T) {
	_, err := Read(with(map[string]any{
		"serverLoadMetric":         "sum(",
		"serverLoadThreshold":      "two",
		"serverAdmissionThreshold": "three",
		"serverLoadRateInterval":   "soon",
		"serverLoadReplicas":       "all",
		"serverLoadInFlight":       "some",
		"serverLoadExcludeModels":  []any{"a", "a", 1.0},
		"serverLoadSelector":       map[string]any{"envoy": "up{", "triton": `envoy_cluster_name="x"`},
	}), "sonic", "cms")
	if err == nil {
		t.Fatal("no error")
	}
	var got []string
	for line := range strings.Lines(err.Error()) {
		key, _, _ := strings.Cut(line, ": ")
		got = append(got, key)
	}
	want := []string{
		"serverLoadMetric", "serverLoadRateInterval", "serverLoadExcludeModels[2]", "serverLoadSelector.envoy",
		"serverLoadSelector.triton", "serverLoadThreshold", "serverAdmissionThreshold",
		"serverLoadReplicas", "serverLoadInFlight",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys of the errors (-want +got):\n%s\n%v", diff, err)
	}
}

func TestErrorsSayWhatAndGot(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		user       map[string]any
	}{
		{"threshold-of-zero", "serverLoadThreshold: must be a number of at least 0.001, got 0", map[string]any{"serverLoadThreshold": 0.0}},
		{
			"admission-at-scaling", "serverAdmissionThreshold: must be above the scaling threshold of 2, got 2",
			gateOn(map[string]any{"serverAdmissionThreshold": 2.0}),
		},
		{
			"admission-of-zero-with-a-custom-metric", "serverAdmissionThreshold: must be a number of at least 0.001, got 0",
			map[string]any{"serverLoadMetric": "up", "serverAdmissionThreshold": 0.0},
		},
		{"interval-of-zero", "serverLoadRateInterval: must be at least 1ms, got 0s", map[string]any{"serverLoadRateInterval": "0s"}},
		{"range-vector", "serverLoadMetric: must be an instant vector, got a range vector", map[string]any{"serverLoadMetric": "up[5m]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read(with(tc.user), "sonic", "cms")
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}
