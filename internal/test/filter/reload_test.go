package filter_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// replace is a filter with other settings behind the same gauges, after 100 ms.
func replace(t *testing.T, before *filter.Filter, p *prometheus, s filter.Settings) *filter.Filter {
	t.Helper()
	f, _ := gate(t, s)
	f.SetRandom(0.5)
	f.Gauges, f.NowMS, f.Upstream = before.Gauges, before.NowMS+100, p.answer
	return f
}

// A reload keeps Envoy's gauges: another question than the one that was answered is asked at once, the same is not.
func TestChangedConfiguration(t *testing.T) {
	before := filter.Defaults(t).With("limiter.cacheSeconds", 60)
	for _, c := range []struct {
		name    string
		after   filter.Settings
		load    string // what Prometheus says after the change; "" when it does not answer
		refused bool
		queries int
	}{
		{"nothing", before, "1", true, 1},
		{"times only", before.With("limiter.timeoutSeconds", 0.3), "1", true, 1},
		{"threshold", before.With("threshold", 10.0), "5", false, 2},
		{"ramp", before.With("limiter.ramp", 1000.0), "5", false, 2},
		{"query", before.With("query", "other"), "1", false, 2},
		{"tenant", before.With("prometheus.headers", map[string]any{"X-Scope-OrgID": "cms"}), "1", false, 2},
		{"threshold, no answer", before.With("threshold", 4.0), "", false, 2},
		{"threshold, no answer, last known", before.With("threshold", 4.0).With("limiter.unknownLoad", "last"), "", false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, p := gate(t, before)
			p.load = "5"
			refused(t, first)
			second := replace(t, first, p, c.after)
			if p.load = c.load; c.load == "" {
				p.status = "503"
			}
			for range 3 {
				if got := refused(t, second); got != c.refused {
					t.Errorf("refused %v, want %v", got, c.refused)
				}
			}
			if p.queries != c.queries {
				t.Errorf("%d queries, want %d", p.queries, c.queries)
			}
		})
	}
}

// A query that failed says nothing of the one that replaces it.
func TestChangedQueryAfterAFailure(t *testing.T) {
	first, p := gate(t, filter.Defaults(t))
	p.status = "400"
	refused(t, first)
	second := replace(t, first, p, filter.Defaults(t).With("query", "other"))
	p.status, p.load = "", "5"
	if !refused(t, second) {
		t.Error("the first call does not wait for the new query's answer")
	}
}

// The answer to a question that was changed meanwhile comes after the new one.
func TestLateAnswerToAChangedQuestion(t *testing.T) {
	first, p := gate(t, filter.Defaults(t))
	second, _ := gate(t, filter.Defaults(t).With("threshold", 10.0))
	second.Upstream = p.answer
	p.load = "5"
	refused(t, first)
	first.NowMS += 1500
	first.Upstream = func(cluster string, header filter.Header, body string) (filter.Header, string) {
		second.Gauges, second.NowMS = first.Gauges, first.NowMS+50
		if refused(t, second) {
			t.Error("load 5 is refused, threshold 10")
		}
		first.NowMS += 100
		return p.answer(cluster, header, body)
	}
	refused(t, first)
	second.NowMS = first.NowMS
	if refused(t, second) || p.queries != 3 {
		t.Errorf("after %d queries the old verdict counts", p.queries)
	}
}

// An answer to the old query that comes after the change, and before the new one's, says nothing.
func TestOldAnswerWhileTheNewQueryRuns(t *testing.T) {
	for _, status := range []string{"200", "504"} {
		old, p := gate(t, filter.Defaults(t))
		p.load = "5"
		refused(t, old)
		old.NowMS += 10000
		changed := filter.Defaults(t).With("query", "other").With("threshold", 10.0)
		asks, looks := replace(t, old, p, changed), replace(t, old, p, changed)
		old.Upstream = func(cluster string, header filter.Header, body string) (filter.Header, string) {
			old.NowMS += 200 // the change was after 100
			p.status = status
			return p.answer(cluster, header, body)
		}
		asks.Upstream = func(string, filter.Header, string) (filter.Header, string) {
			looks.WaitFull = true
			refused(t, looks)
			old.Gauges["lease_ms"] = 0 // The old script has asked before.
			refused(t, old)
			looks.WaitFull, looks.NowMS = false, old.NowMS+300 // A place is free again.
			began := looks.NowMS
			if refused(t, looks) || looks.NowMS < began+500 {
				t.Errorf("status %s: a call does not wait for the new answer", status)
			}
			return filter.Header{":status": "503"}, ""
		}
		refused(t, asks)
	}
}

// Scripts are replaced one after the other: the internal listener's may still be the old one.
func TestRefreshByTheScriptBefore(t *testing.T) {
	slow := filter.Defaults(t).With("limiter.cacheSeconds", 60)
	first, p := gate(t, slow)
	p.load = "5"
	refused(t, first)
	second := replace(t, first, p, slow.With("threshold", 10.0))
	second.Internal = first
	done := second.NowMS + 20 // when the internal listener has the new script too
	first.Upstream = func(string, filter.Header, string) (filter.Header, string) {
		t.Error("the old script asks for the new one")
		return nil, ""
	}
	second.Tick = func() {
		if second.NowMS >= done {
			second.Internal = nil
		}
	}
	if refused(t, second) || p.queries != 2 {
		t.Errorf("the old verdict counts after %d queries", p.queries)
	}
}

// All workers' new scripts share one query.
func TestWorkersShareTheFirstQuery(t *testing.T) {
	first, p := gate(t, filter.Defaults(t))
	refused(t, first)
	changed := filter.Defaults(t).With("query", "other")
	workers := []*filter.Filter{replace(t, first, p, changed), replace(t, first, p, changed), replace(t, first, p, changed)}
	workers[0].Upstream = func(cluster string, header filter.Header, body string) (filter.Header, string) {
		for _, w := range workers[1:] {
			w.WaitFull = true // one look is enough
			refused(t, w)
		}
		return p.answer(cluster, header, body)
	}
	p.load = "5"
	if !refused(t, workers[0]) || p.queries != 2 {
		t.Errorf("%d queries, want one of the old script and one of the new", p.queries)
	}
}

func TestClockSetBackBeforeAChange(t *testing.T) {
	slow := filter.Defaults(t).With("limiter.cacheSeconds", 60)
	first, p := gate(t, slow)
	p.load = "5"
	refused(t, first)
	first.NowMS -= 600
	if second := replace(t, first, p, slow.With("threshold", 10.0)); refused(t, second) {
		t.Error("the old verdict counts, since it is from the future")
	}
}

// A gauge lives as long as a script has touched it, so a new one touches all with its first call of any kind.
func TestGaugesOutliveTheirScript(t *testing.T) {
	s := filter.Defaults(t).With("hold.enabled", true).With("hold.maxSeconds", 1.0)
	used, p := gate(t, s)
	for _, status := range []string{"", "503"} {
		p.status = status
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
