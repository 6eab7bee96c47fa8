package scrape

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
)

// filled is a store with a counter of two pods that grows by 2 and by 1 per second,
// scraped every 5 s for some time.
func filled(lasted time.Duration) (*Store, []*Series) {
	s := NewStore(10 * time.Minute)
	var all []*Series
	for i, pod := range []string{"a", "b"} {
		series := s.Series("requests", labels.FromStrings("pod", pod, "release", "sim"))
		for at := time.Duration(0); at <= lasted; at += 5 * time.Second {
			series.Add(at, float64(2-i)*at.Seconds())
		}
		all = append(all, series)
	}
	return s, all
}

func TestQueriesReadTheStore(t *testing.T) {
	s, all := filled(10 * time.Minute)
	all[1].End(605 * time.Second)
	for _, tc := range []struct {
		query string
		at    time.Duration
		want  []float64
	}{
		{`sum(rate(requests[1m]))`, 10 * time.Minute, []float64{3}},
		{`sum(rate(requests{pod="a",release="sim"}[1m]))`, 10 * time.Minute, []float64{2}},
		{`sum(rate(requests{pod!="a"}[1m]))`, 10 * time.Minute, []float64{1}},
		{`sum({__name__=~"req.*"})`, 10 * time.Minute, []float64{1800}},
		{`requests{pod="b"}`, 600 * time.Second, []float64{600}},
		{`requests{pod="b"}`, 606 * time.Second, nil},                                // stale
		{`avg_over_time(requests{pod="b"}[10s])`, 606 * time.Second, []float64{600}}, // a range ignores the marker
		{`requests{pod="a"}`, 16 * time.Minute, nil},                                 // older than the look back
		{`2 + 1`, time.Minute, []float64{3}},
		{`nothing`, time.Minute, nil},
	} {
		got, err := NewEngine().Values(t.Context(), s, tc.query, tc.at)
		if err != nil {
			t.Errorf("%s: %v", tc.query, err)
		}
		if len(got)+len(tc.want) > 0 && !cmp.Equal(got, tc.want) {
			t.Errorf("%s at %s: got %v, want %v", tc.query, tc.at, got, tc.want)
		}
	}
}

// A store does not grow over time.
func TestStoreForgets(t *testing.T) {
	s, all := filled(24 * time.Hour)
	if n := len(all[0].points); n > 600 {
		t.Errorf("a store that keeps 10m of samples every 5s holds %d of a series", n)
	}
	got, err := NewEngine().Values(t.Context(), s, `count_over_time(requests{pod="a"}[10m])`, 24*time.Hour)
	if err != nil || !cmp.Equal(got, []float64{120}) {
		t.Errorf("10m of samples every 5s: got %v and %v", got, err)
	}
	s.Drop(25 * time.Hour)
	if n := len(s.byName["requests"]); n > 0 {
		t.Errorf("%d series are left an hour after their last sample", n)
	}
}

func TestReadsSaysHowFarBack(t *testing.T) {
	for _, tc := range []struct {
		query string
		want  Reading
	}{
		{`a`, Reading{Back: 5 * time.Minute, Name: map[string]bool{"a": true}}},
		{`rate(a[10m]) + b`, Reading{Back: 15 * time.Minute, Name: map[string]bool{"a": true, "b": true}}},
		{`max_over_time(rate(a[1m] offset 2m)[1h:1m])`, Reading{Back: 68 * time.Minute, Name: map[string]bool{"a": true}}},
		{`{job="x"}`, Reading{Back: 5 * time.Minute, All: true, Name: map[string]bool{"": true}}},
	} {
		got, err := Reads([]string{tc.query})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.query, diff)
		}
	}
}
