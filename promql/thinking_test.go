package promql_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A crowd is a closed system in its asymptotic regime: clients that think, then wait
// for a fleet in which a replica executes one request at a time.
type crowd struct{ clients, think, service, replicas float64 }

// arrivals is the rate of requests, limited by the clients or by the fleet.
func (c crowd) arrivals() float64 { return min(c.replicas/c.service, c.clients/(c.think+c.service)) }

// thinking is the number of clients that think.
func (c crowd) thinking() float64 { return c.arrivals() * c.think }

func (f *fleets) crowd(release string, c crowd) {
	const envoy, triton = `envoy_cluster_name="triton_grpc_service"`, `model="tagger"`
	inFlight, serving := c.clients-c.thinking(), c.arrivals()*c.service
	grows := func(perSecond float64) string { return fmt.Sprintf("0+%.9gx30", 10*perSecond) }
	f.series("envoy_cluster_membership_healthy", release, envoy, fmt.Sprintf("%gx30", c.replicas))
	f.series("envoy_cluster_upstream_rq_active", release, envoy, fmt.Sprintf("%.9gx30", inFlight))
	f.series("envoy_cluster_upstream_rq_total", release, envoy, grows(c.arrivals()))
	f.series("envoy_cluster_upstream_rq_time_count", release, envoy, grows(c.arrivals()))
	f.series("envoy_cluster_upstream_rq_time_sum", release, envoy, grows(1e3*inFlight))
	f.series("envoy_listener_downstream_cx_active", release, `envoy_listener_address="clients"`, fmt.Sprintf("%.9gx30", c.clients))
	f.series("nv_inference_request_duration_us", release, triton, grows(1e6*inFlight))
	f.series("nv_inference_queue_duration_us", release, triton, grows(1e6*max(0, inFlight-serving)))
}

// thinkingParams returns parameters with a think time: measured, or that of the clients.
func thinkingParams(release string, c crowd, measured bool, utilization float64) promql.Params {
	p := promql.ForRelease(release, "cms")
	p.InFlight, p.Utilization = promql.Active, utilization
	p.ThinkTime = time.Duration(math.Round(c.think*1000)) * time.Millisecond
	if measured {
		p.ThinkTime = promql.Measured
	}
	return p
}

// TestThinkingFormula checks the formula for clients that think, on the real engine, for random crowds. With u = 1 the
// answer is T N / (T + z/s) for any number of replicas; with a smaller u it is larger. It is between the answer for the
// requests in flight alone and the work in service over u, and it grows with the crowd.
func TestThinkingFormula(t *testing.T) {
	rng := random(t)
	var f fleets
	crowds := make([]crowd, 60)
	for i := range crowds {
		c := crowd{
			clients: float64(1 + rng.IntN(1000)), think: float64(rng.IntN(5000)) / 1000,
			service: float64(1+rng.IntN(500)) / 1000, replicas: float64(1 + rng.IntN(100)),
		}
		crowds[i] = c
		f.crowd(fmt.Sprint("r", i), c)
		more := c
		more.clients *= 1.5
		f.crowd(fmt.Sprint("more", i), more)
	}
	series, eng := f.store(t), newEngine(t)
	needed := func(p promql.Params) float64 {
		q, err := promql.NeededReplicas(p)
		if err != nil {
			t.Fatal(err)
		}
		value, known := asked(t, eng, series, q)
		if !known {
			t.Fatalf("%s\n\tanswers with nothing", q)
		}
		return value
	}
	for i, c := range crowds {
		for _, measured := range []bool{true, false} {
			release := fmt.Sprint("r", i)
			exact := c.clients / (1 + c.think/c.service/promql.DefaultScaling)
			if got := needed(thinkingParams(release, c, measured, 1)); math.Abs(got-exact) > 1e-4*exact {
				t.Errorf("%+v, measured %v: needed %g, want %g", c, measured, got, exact)
			}
			got := needed(thinkingParams(release, c, measured, 0.9))
			inFlight, inService := c.clients-c.thinking(), promql.DefaultScaling*c.arrivals()*c.service/0.9
			if got < min(inFlight, inService)*(1-1e-6) || got > max(inFlight, inService)*(1+1e-6) {
				t.Errorf("%+v, measured %v: needed %g, want between %g and %g", c, measured, got, inFlight, inService)
			}
			if more := needed(thinkingParams(fmt.Sprint("more", i), c, measured, 0.9)); more < got*(1-1e-6) {
				t.Errorf("%+v, measured %v: needed falls from %g to %g with half as many clients again", c, measured, got, more)
			}
		}
	}
}

// TestNoThinkTime checks that the parameters for clients that think have no effect without a think time.
func TestNoThinkTime(t *testing.T) {
	p := promql.ForRelease("sonic", "cms")
	plain, err := promql.NeededReplicas(p)
	if err != nil {
		t.Fatal(err)
	}
	p.Utilization, p.Threshold = 0.5, 7
	other, err := promql.NeededReplicas(p)
	if err != nil || !other.Equal(plain) {
		t.Errorf("utilization and threshold change the query to %s, %v", other, err)
	}
	if text := plain.String(); strings.Contains(text, "cx_active") || strings.Contains(text, "rq_total") {
		t.Errorf("reads more than the three terms: %s", text)
	}
}
