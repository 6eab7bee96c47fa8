package filter_test

import (
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// prometheus answers with a load that a test can change, and counts the queries.
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
		t.Fatalf("the filter failed: %v", err)
	}
	return response != nil
}

// at sets the load and makes the filter read it.
func at(t *testing.T, f *filter.Filter, p *prometheus, load string) {
	t.Helper()
	p.load = load
	f.NowMS += 1000
	f.Tick(t)
}

// However often the clock ticks and clients call, there is one query per cacheSeconds.
func TestOneQueryInACacheTime(t *testing.T) {
	for _, cache := range []float64{1, 5} {
		f, p := gate(t, filter.Defaults(t).With("limiter.cacheSeconds", cache))
		for range 1000 {
			f.Tick(t)
			refused(t, f)
			f.NowMS += 50
		}
		if want := int(50 / cache); p.queries < want-1 || p.queries > want {
			t.Errorf("%d queries in 50 s, want one every %v s", p.queries, cache)
		}
	}
}

// A tick that is a little early still sends the query.
func TestTimerIsEarly(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	for range 10 {
		f.Tick(t)
		f.NowMS += 998
	}
	if p.queries != 10 {
		t.Errorf("%d queries for 10 ticks", p.queries)
	}
}

func TestVerdictFollowsTheLoad(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	for _, step := range []struct {
		load string
		want bool
	}{{"1", false}, {"5", true}, {"3", false}, {"3.000001", true}, {"3.5", true}, {"2.9999999", false}} {
		at(t, f, p, step.load)
		if got := refused(t, f); got != step.want {
			t.Errorf("load %s: refused %v, want %v", step.load, got, step.want)
		}
	}
}

// A threshold far below 1, such as one in seconds, is exact too.
func TestSmallThreshold(t *testing.T) {
	f, p := gate(t, filter.Defaults(t).With("threshold", 0.0015))
	for load, want := range map[string]bool{"0.0011": false, "0.0015": false, "0.001502": true} {
		at(t, f, p, load)
		if got := refused(t, f); got != want {
			t.Errorf("load %s: refused %v, want %v", load, got, want)
		}
	}
}

// A load in bytes does not overflow its gauge.
func TestLargeLoad(t *testing.T) {
	f, p := gate(t, filter.Defaults(t).With("threshold", 1e12))
	for load, want := range map[string]bool{"1e12": false, "1000000000001": true, "1e300": true} {
		at(t, f, p, load)
		if got := refused(t, f); got != want {
			t.Errorf("load %s: refused %v, want %v", load, got, want)
		}
	}
}

// Calls never query: they use the known load, and there is none at first.
func TestCallsDoNotAsk(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	p.load = "5"
	if refused(t, f) || p.queries != 0 || f.Counters["outcome.unknown_allowed"] != 1 {
		t.Errorf("%d queries, counted %v; want the choice for an unknown load", p.queries, f.Counted())
	}
	before := f.NowMS
	f.Tick(t)
	if !refused(t, f) || f.NowMS != before {
		t.Errorf("load 5: passes, or waits %v ms", f.NowMS-before)
	}
}

// After one lost answer, the gate still uses the last load.
func TestOneLostAnswer(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	at(t, f, p, "5")
	p.status = "504"
	at(t, f, p, "5")
	if !refused(t, f) {
		t.Error("one lost answer opens the gate")
	}
}

func TestUnknownLoad(t *testing.T) {
	for _, c := range []struct {
		choice   string
		afterMS  float64 // since the load of 5 was read, without another answer
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
		if c.lastSeen {
			at(t, f, p, "5")
		}
		p.status = "503"
		f.NowMS += c.afterMS
		f.Tick(t)
		before := f.Counters["outcome."+c.outcome]
		if got := refused(t, f); got != c.want || f.Counters["outcome."+c.outcome] != before+1 {
			t.Errorf("%s, %v ms after the last answer: refused %v, counted %v; want %v, %s",
				c.choice, c.afterMS, got, f.Counted(), c.want, c.outcome)
		}
	}
}

func TestClockSetBack(t *testing.T) {
	f, p := gate(t, filter.Defaults(t))
	f.Tick(t)
	f.NowMS -= 24 * 3600 * 1000
	if refused(t, f) || f.Counters["outcome.unknown_allowed"] != 1 {
		t.Errorf("the load of tomorrow counts: %v", f.Counted())
	}
	p.load = "5"
	f.Tick(t)
	if !refused(t, f) {
		t.Error("the load is not read again")
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
		f.Tick(t)
		if got := refused(t, f); got != c.want {
			t.Errorf("load %v, threshold 3, ramp 2, random %v: refused %v, want %v", c.load, c.random, got, c.want)
		}
	}
}

// After the clock was set back, an older load does not stay the last known one for ever.
func TestLastLoadAndClockSetBack(t *testing.T) {
	f, p := gate(t, filter.Defaults(t).With("limiter.unknownLoad", "last"))
	at(t, f, p, "5")
	p.status = "503"
	f.NowMS -= 24 * 3600 * 1000
	f.Tick(t)
	if refused(t, f) {
		t.Error("the load of tomorrow counts")
	}
}
