package gatetest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/envoytest"
	"github.com/fastmachinelearning/supersonic/internal/gatetest"
	"github.com/fastmachinelearning/supersonic/internal/luatest"
)

// The same answers as in the interpreter, each by an Envoy that knows nothing before.
func TestAnswers(t *testing.T) {
	settings := gatetest.Defaults()
	g := gatetest.Start(t, settings)
	for _, a := range luatest.Answers(t) {
		t.Run(a.Name, func(t *testing.T) {
			g.Reload(t, settings)
			envoytest.Await(t, 5*time.Second, "the end of the gate before", func() bool {
				return g.Value(t, "envoy_http_lua_gate_executions") == 0
			})
			g.Prometheus.Set(envoytest.Answer{Status: a.Status, Body: a.Body})
			reply := g.Index(t.Context())
			want := codes.OK
			if a.Outcome == "refused" {
				want = codes.ResourceExhausted
			}
			if reply.Code != want {
				t.Errorf("code: %v %q, want %v", reply.Code, reply.Message, want)
			}
			if diff := cmp.Diff(map[string]float64{a.Outcome: 1}, g.Outcomes(t)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]float64{a.Kind: 1}, g.Answers(t)); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if a.LoadMilli != nil && g.Value(t, "envoy_http_lua_gate_load_milli") != float64(*a.LoadMilli) {
				t.Errorf("load_milli: %v, want %d", g.Value(t, "envoy_http_lua_gate_load_milli"), *a.LoadMilli)
			}
		})
	}
	if errors := g.Value(t, "envoy_http_lua_gate_errors"); errors != 0 {
		t.Errorf("envoy counts %v faults of the script", errors)
	}
}
