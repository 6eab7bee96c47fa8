package gate_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/filter"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// The same answers as in package filter, one after another in one Envoy.
func TestAnswers(t *testing.T) {
	g := gate.Start(t, gate.Defaults().Limiter("cacheSeconds", 0.05).Limiter("timeoutSeconds", 1))
	for _, a := range filter.Answers(t) {
		t.Run(a.Name, func(t *testing.T) {
			g.Prometheus.Set(envoy.Answer{Status: a.Status, Body: a.Body})
			// When the second query arrives, the gate has read the answer to the first.
			asked := len(g.Prometheus.Queries())
			envoy.Await(t, gate.Patience, "two queries", func() bool {
				return len(g.Prometheus.Queries()) >= asked+2
			})
			before := g.Answers(t)
			envoy.Await(t, gate.Patience, "a call that counts as "+a.Outcome, func() bool { return counts(t, g, a.Outcome) })
			for kind, n := range g.Answers(t) {
				if kind != a.Kind && n != before[kind] {
					t.Errorf("an answer counts as %s, want %s", kind, a.Kind)
				}
			}
			if g.Answers(t)[a.Kind] == 0 {
				t.Errorf("no answer counts as %s", a.Kind)
			}
			if a.LoadMilli != nil && g.Value(t, "envoy_http_lua_gate_load_milli") != float64(*a.LoadMilli) {
				t.Errorf("load_milli: %v, want %d", g.Value(t, "envoy_http_lua_gate_load_milli"), *a.LoadMilli)
			}
		})
	}
	if errors := g.Value(t, "envoy_http_lua_gate_errors"); errors != 0 {
		t.Errorf("envoy counts %v errors of the script", errors)
	}
}

// counts makes a call, and reports whether its client and Envoy's counters see the outcome.
func counts(t *testing.T, g *gate.Gate, outcome string) bool {
	t.Helper()
	before := g.Outcomes(t)[outcome]
	r := g.Index(t.Context())
	if g.Outcomes(t)[outcome] != before+1 {
		return false
	}
	want := codes.OK
	if outcome == "refused" {
		want = codes.ResourceExhausted
	}
	if r.Code != want {
		t.Errorf("code: %v %q, want %v", r.Code, r.Message, want)
	}
	return true
}
