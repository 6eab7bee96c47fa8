package filter_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// replace returns a filter with other settings and the same gauges, 100 ms later.
func replace(t *testing.T, before *filter.Filter, p *prometheus, s filter.Settings) *filter.Filter {
	t.Helper()
	f, _ := gate(t, s)
	f.SetRandom(0.5)
	f.Gauges, f.NowMS, f.Upstream = before.Gauges, before.NowMS+100, p.answer
	return f
}

// A reload keeps Envoy's gauges. The load stays valid for its own query. A new query is sent at the next tick, and until
// it is answered the load is unknown.
func TestChangedConfiguration(t *testing.T) {
	before := filter.Defaults(t).With("limiter.cacheSeconds", 60).With("limiter.unknownLoad", "closed")
	for _, c := range []struct {
		name       string
		after      filter.Settings
		load       string // Prometheus' answer after the change; "" if there is none
		atOnce     string // the outcome before the next tick
		then       string // the outcome after it
		newQueries int
	}{
		{"nothing", before, "1", "refused", "refused", 0},
		{"times only", before.With("limiter.timeoutSeconds", 0.3), "1", "refused", "refused", 0},
		{"threshold", before.With("threshold", 10.0), "1", "allowed", "allowed", 0},
		{"ramp", before.With("limiter.ramp", 1000.0), "1", "allowed", "allowed", 0},
		{"query", before.With("query", "other"), "1", "unknown_refused", "allowed", 1},
		{"tenant", before.With("prometheus.headers", map[string]any{"X-Scope-OrgID": "cms"}), "1", "unknown_refused", "allowed", 1},
		{"address", before.With("prometheus.host", "other"), "1", "unknown_refused", "allowed", 1},
		{"query, no answer", before.With("query", "other"), "", "unknown_refused", "unknown_refused", 1},
		{
			"query, no answer, last known",
			before.With("query", "other").With("limiter.unknownLoad", "last"),
			"", "unknown_allowed", "unknown_allowed", 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, p := gate(t, before)
			at(t, first, p, "5")
			second := replace(t, first, p, c.after)
			if p.load = c.load; c.load == "" {
				p.status = "503"
			}
			for _, want := range []string{c.atOnce, c.then} {
				counted := second.Counters["outcome."+want]
				if refused(t, second); second.Counters["outcome."+want] != counted+1 {
					t.Errorf("counted %v, want %s", second.Counted(), want)
				}
				second.Tick(t)
			}
			if p.queries != 1+c.newQueries {
				t.Errorf("%d queries, want %d", p.queries, 1+c.newQueries)
			}
		})
	}
}

// A worker may still have the old script for a moment, and run a tick with it after one of the new script. Neither uses
// the load of the other, and the new query is sent again.
func TestTickOfTheScriptBefore(t *testing.T) {
	slow := filter.Defaults(t).With("limiter.cacheSeconds", 60)
	old, p := gate(t, slow)
	at(t, old, p, "5")
	changed := replace(t, old, p, slow.With("query", "other"))
	p.load = "1"
	changed.Tick(t)
	if refused(t, changed) || changed.Counters["outcome.allowed"] != 1 {
		t.Errorf("load 1: counted %v", changed.Counted())
	}
	p.load = "5"
	old.Tick(t)
	if refused(t, changed) || changed.Counters["outcome.unknown_allowed"] != 1 {
		t.Errorf("the answer to the old query counts: %v", changed.Counted())
	}
	changed.Tick(t)
	if !refused(t, changed) || p.queries != 4 {
		t.Errorf("after %d queries: counted %v", p.queries, changed.Counted())
	}
}

// An answer to the old query that comes after the change is ignored.
func TestOldAnswerAfterTheChange(t *testing.T) {
	for _, status := range []string{"200", "504"} {
		old, p := gate(t, filter.Defaults(t).With("limiter.unknownLoad", "closed"))
		at(t, old, p, "1")
		changed := replace(t, old, p, filter.Defaults(t).With("query", "other").With("limiter.unknownLoad", "closed"))
		p.status = status
		old.NowMS += 1000
		old.Tick(t)
		changed.NowMS = old.NowMS
		if !refused(t, changed) || changed.Counters["outcome.unknown_refused"] != 1 {
			t.Errorf("status %s: counted %v, want an unknown load", status, changed.Counted())
		}
		p.status, p.load = "200", "1"
		changed.Tick(t)
		if refused(t, changed) {
			t.Errorf("status %s: counted %v after the new answer", status, changed.Counted())
		}
	}
}

// Envoy removes gauges that no script uses, so each script touches all of them with its first call of any kind.
func TestGaugesOutliveTheirScript(t *testing.T) {
	s := filter.Defaults(t).With("hold.enabled", true).With("hold.maxSeconds", 1.0)
	used, p := gate(t, s)
	for _, status := range []string{"", "503"} {
		p.status = status
		used.Tick(t)
		refused(t, used)
		used.NowMS += 10000
	}
	fresh, _ := gate(t, s)
	if _, err := fresh.Call(filter.Header{":path": "/unguarded"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(used.Gauges)) {
		if _, ok := fresh.Gauges[name]; !ok {
			t.Errorf("%s is not touched", name)
		}
	}
	if len(used.Gauges) < 10 {
		t.Errorf("the test uses %d gauges only", len(used.Gauges))
	}
}
