package promql_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/promql"
)

func TestParamsValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*promql.Params)
		want   []string
	}{
		{"defaults", func(*promql.Params) {}, nil},
		{"one-millisecond", func(p *promql.Params) { p.RateInterval = time.Millisecond }, nil},
		{"thirty-days", func(p *promql.Params) { p.RateInterval = 720 * time.Hour }, nil},
		{
			"more-than-thirty-days", func(p *promql.Params) { p.RateInterval = 720*time.Hour + time.Millisecond },
			[]string{"rateInterval: must be at most 720h0m0s, got 720h0m0.001s"},
		},
		{"no-interval", func(p *promql.Params) { p.RateInterval = 0 }, []string{"rateInterval: must be at least 1ms, got 0s"}},
		{
			"negative-interval", func(p *promql.Params) { p.RateInterval = -time.Minute }, []string{"rateInterval: must be at least 1ms, got -1m0s"},
		},
		{
			"part-of-a-millisecond", func(p *promql.Params) { p.RateInterval += time.Microsecond },
			[]string{"rateInterval: must be an integer number of milliseconds, got 1m0.000001s"},
		},
		{"replicas", func(p *promql.Params) { p.Replicas = "Instant" }, []string{`replicas: must be windowed or instant, got "Instant"`}},
		{"in-flight", func(p *promql.Params) { p.InFlight = "most" }, []string{`inFlight: must be completed, larger or active, got "most"`}},
		{"think-time-negative", func(p *promql.Params) { p.ThinkTime = -time.Second }, []string{`thinkTime: must be from 0s to 1d, got -1s`}},
		{"think-time-long", func(p *promql.Params) { p.ThinkTime = 25 * time.Hour }, []string{`thinkTime: must be from 0s to 1d, got 25h0m0s`}},
		{
			"think-time-fraction", func(p *promql.Params) { p.ThinkTime = time.Microsecond },
			[]string{`thinkTime: must be an integer number of milliseconds, got 1µs`},
		},
		{
			"measured-by-completed", func(p *promql.Params) { p.ThinkTime = promql.Measured },
			[]string{`inFlight: must be active where the think time is measured, got "completed"`},
		},
		{
			"no-room-and-no-threshold", func(p *promql.Params) { p.ThinkTime, p.Utilization, p.Threshold = time.Second, 1.1, 0 },
			[]string{`utilization: must be above 0 and at most 1, got 1.1`, `threshold: must be a number of at least 0.001, got 0`},
		},
		{
			"model-without-name", func(p *promql.Params) { p.ExcludeModels = []string{"a", ""} },
			[]string{"excludeModels: must not contain an empty name, got one at position 1"},
		},
		{
			"model-twice", func(p *promql.Params) { p.ExcludeModels = []string{"a", "b", "a"} },
			[]string{`excludeModels: must not repeat a model, got "a" again at position 2`},
		},
		{"every-error-at-once", func(p *promql.Params) { *p = promql.Params{ExcludeModels: []string{"", "a", "a"}} }, []string{
			"rateInterval: must be at least 1ms, got 0s",
			`replicas: must be windowed or instant, got ""`,
			`inFlight: must be completed, larger or active, got ""`,
			"excludeModels: must not contain an empty name, got one at position 0",
			`excludeModels: must not repeat a model, got "a" again at position 2`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := promql.ForRelease("sonic", "cms")
			test.change(&p)
			if diff := cmp.Diff(test.want, lines(p.Validate())); diff != "" {
				t.Errorf("Validate mismatch (-want +got):\n%s", diff)
			}
			for name, query := range queries {
				q, err := query.Build(p)
				if diff := cmp.Diff(test.want, lines(err)); diff != "" {
					t.Errorf("%s refuses otherwise than Validate (-want +got):\n%s", name, diff)
				}
				if err != nil && q.String() != "" {
					t.Errorf("%s gives a query and an error: %s", name, q)
				}
			}
		})
	}
}

func TestThresholdsValidate(t *testing.T) {
	const form = ": must be a number of at least 0.001, got "
	for _, test := range []struct {
		name               string
		scaling, admission float64
		want               []string
	}{
		{"defaults", promql.DefaultScaling, promql.AdmissionFor(promql.DefaultScaling), nil},
		{"fractions", 1.5, 1.501, nil},
		{"smallest", 0.001, 0.002, nil},
		{"zero", 0, 3, []string{"scaling" + form + "0"}},
		{"too-small", 0.0009, 3, []string{"scaling" + form + "0.0009"}},
		{"negative", 2, -3, []string{"admission" + form + "-3"}},
		{"not-a-number", math.NaN(), math.NaN(), []string{"scaling" + form + "NaN", "admission" + form + "NaN"}},
		{"infinite", math.Inf(1), math.Inf(-1), []string{"scaling" + form + "+Inf", "admission" + form + "-Inf"}},
		{"equal", 2, 2, []string{"admission: must be above the scaling threshold of 2, got 2"}},
		{"out-of-order", 3, 2, []string{"admission: must be above the scaling threshold of 3, got 2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := promql.Thresholds{Scaling: test.scaling, Admission: test.admission}.Validate()
			if diff := cmp.Diff(test.want, lines(err)); diff != "" {
				t.Errorf("Validate mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// lines splits an error into lines, each of which must name its field.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, each := range err.(interface{ Unwrap() []error }).Unwrap() {
		var f *promql.FieldError
		if !errors.As(each, &f) || lines[i] != f.Field+": "+f.Err.Error() {
			lines[i] += " (names no field)"
		}
	}
	return lines
}

func TestAdmissionFor(t *testing.T) {
	for _, test := range []struct{ scaling, want float64 }{{0.001, 3}, {1.5, 3}, {2, 3}, {4, 6}} {
		if got := promql.AdmissionFor(test.scaling); got != test.want {
			t.Errorf("AdmissionFor(%g) = %g, want %g", test.scaling, got, test.want)
		}
	}
}

func TestRateIntervals(t *testing.T) {
	const scrape = 15 * time.Second
	if got := promql.MinRateInterval(scrape); got != 30*time.Second {
		t.Errorf("MinRateInterval(%s) = %s, want 30s", scrape, got)
	}
	if got := promql.GoodRateInterval(scrape); got != time.Minute {
		t.Errorf("GoodRateInterval(%s) = %s, want 1m", scrape, got)
	}
}

func TestParseDuration(t *testing.T) {
	for _, test := range []struct {
		in   string
		want time.Duration
	}{{"30s", 30 * time.Second}, {"1m30s", 90 * time.Second}, {"500ms", 500 * time.Millisecond}, {"1d", 24 * time.Hour}} {
		if got, err := promql.ParseDuration(test.in); err != nil || got != test.want {
			t.Errorf("ParseDuration(%q) = %s, %v, want %s", test.in, got, err, test.want)
		}
	}
	for _, in := range []string{"", "1.5m", "60", "-1m", "1 m", "1s1m", "1m]", "99999999999y"} {
		_, err := promql.ParseDuration(in)
		if want := `must be a duration such as 30s or 1m30s, got "` + in + `"`; err == nil || err.Error() != want {
			t.Errorf("ParseDuration(%q) gives the error %v, want %s", in, err, want)
		}
	}
}
