package filter_test

import (
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// prometheus answers with a load that a test may change, and counts the queries.
type prometheus struct {
	load    string
	status  string
	queries int
	last    filter.Header
	form    string
}

func (p *prometheus) answer(_ string, header filter.Header, body string) (filter.Header, string) {
	p.queries++
	p.last, p.form = header, body
	if p.status != "" && p.status != "200" {
		return filter.Header{":status": p.status}, "upstream request timeout"
	}
	return filter.Header{":status": "200"},
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"` + p.load + `"]}]}}`
}

func gate(t *testing.T, s filter.Settings) (*filter.Filter, *prometheus) {
	t.Helper()
	source, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	f, p := filter.New(t, source), &prometheus{load: "1"}
	f.Upstream = p.answer
	return f, p
}

func refused(t *testing.T, f *filter.Filter) bool {
	t.Helper()
	response, err := f.RepositoryIndex()
	if err != nil {
		t.Fatalf("the filter has a fault: %v", err)
	}
	return response != nil
}

func TestOneQueryForAllCallsOfACacheTime(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	for range 200 {
		refused(t, f)
		f.NowMS += 50
	}
	if p.queries < 9 || p.queries > 10 {
		t.Errorf("%d queries in 10 s of calls, want one a second", p.queries)
	}
}

func TestVerdictFollowsTheLoad(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	for _, step := range []struct {
		load string
		want bool
	}{{"1", false}, {"5", true}, {"3", false}, {"3.5", true}} {
		p.load = step.load
		f.NowMS += 1001
		refused(t, f) // starts the query
		if got := refused(t, f); got != step.want {
			t.Errorf("load %s: refused %v, want %v", step.load, got, step.want)
		}
	}
}

func TestFirstCallWaitsForTheLoad(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	p.load = "5"
	if !refused(t, f) {
		t.Error("the first call passes though the load is above the threshold")
	}
}

func TestCallAfterAPauseWaitsForTheLoad(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	refused(t, f)
	p.load = "5"
	f.NowMS += 3600 * 1000
	if !refused(t, f) {
		t.Error("the load of an hour ago counts")
	}
}

func TestOneLostAnswerChangesNothing(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	p.load = "5"
	refused(t, f)
	p.status = "504"
	f.NowMS += 1500
	refused(t, f)
	p.status = ""
	f.NowMS += 1000
	if !refused(t, f) {
		t.Error("one lost answer opens the gate")
	}
}

func TestUnknownLoad(t *testing.T) {
	for _, c := range []struct {
		choice   string
		afterMS  float64 // since the load of 5 was read, while no answer comes
		want     bool
		outcome  string
		lastSeen bool
	}{
		{"open", 1500, true, "refused", true},
		{"open", 10000, false, "unknown_allowed", true},
		{"open", 0, false, "unknown_allowed", false},
		{"closed", 1500, true, "refused", true},
		{"closed", 10000, true, "unknown_refused", true},
		{"closed", 0, true, "unknown_refused", false},
		{"last", 1500, true, "refused", true},
		{"last", 10000, true, "refused", true},
		{"last", 59000, true, "refused", true},
		{"last", 61500, false, "unknown_allowed", true},
		{"last", 0, false, "unknown_allowed", false},
	} {
		f, p := gate(t, filter.Defaults(t).With("limiter.unknownLoad", c.choice))
		p.load = "5"
		if c.lastSeen {
			refused(t, f)
		}
		p.status = "503"
		f.NowMS += c.afterMS
		before := f.Counters["outcome."+c.outcome]
		if got := refused(t, f); got != c.want || f.Counters["outcome."+c.outcome] != before+1 {
			t.Errorf("%s, %v ms after the last answer: refused %v, counted %v; want %v, %s",
				c.choice, c.afterMS, got, f.Counted(), c.want, c.outcome)
		}
	}
}

// While Prometheus is down, only a call that finds no recent failure waits.
func TestCallsDoNotWaitWhilePrometheusFails(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	p.status = "503"
	refused(t, f)
	for range 20 {
		f.NowMS += 300
		before := f.NowMS
		refused(t, f)
		if f.NowMS != before {
			t.Fatalf("a call waits %v ms", f.NowMS-before)
		}
	}
	if p.queries > 8 {
		t.Errorf("%d queries in 6 s, want at most one a second", p.queries)
	}
}

// What starts the work may vanish with its client: the lease ends by itself.
func TestLostRefreshIsStartedAgain(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	refused(t, f)
	f.NowMS += 10000
	started := f.NowMS
	f.Gauges["lease_ms"] = started + 600 // taken by a caller whose refresh never ran
	p.load = "5"
	if !refused(t, f) || p.queries != 2 {
		t.Errorf("%d queries, want 2", p.queries)
	}
	if waited := f.NowMS - started; waited < 600 || waited > 1200 {
		t.Errorf("asked after %v ms, want soon after 600", waited)
	}
}

func TestClockSetBack(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	refused(t, f)
	f.NowMS -= 24 * 3600 * 1000
	p.load = "5"
	if !refused(t, f) {
		t.Error("the load of tomorrow counts")
	}
}

func TestRamp(t *testing.T) {
	for _, c := range []struct {
		load, random float64
		want         bool
	}{
		{3, 0, false},
		{3.5, 0.24, true},
		{3.5, 0.26, false},
		{4, 0.49, true},
		{4, 0.51, false},
		{5, 0.999999, true},
		{100, 0.999999, true},
	} {
		f, p := gate(t, filter.Defaults(t).With("limiter.ramp", 2.0))
		p.load = strings.TrimSpace(strings.TrimRight(strings.TrimRight(format(c.load), "0"), "."))
		f.SetRandom(c.random)
		if got := refused(t, f); got != c.want {
			t.Errorf("load %v, threshold 3, ramp 2, random %v: refused %v, want %v", c.load, c.random, got, c.want)
		}
	}
}

// A load from before the clock was set back is not the last known one for ever.
func TestLastLoadAfterTheClockWasSetBack(t *testing.T) {
	f, p := gate(t, filter.Defaults(t).With("limiter.unknownLoad", "last"))
	p.load = "5"
	refused(t, f)
	p.status = "503"
	f.NowMS -= 24 * 3600 * 1000
	if refused(t, f) {
		t.Error("the load of tomorrow counts")
	}
}
