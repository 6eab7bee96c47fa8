package proxy

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// The alert on calls that fail reads Envoy's 5xx responses without the calls that found no replica. They must be exactly
// the failed calls.
func TestFailuresCounted(t *testing.T) {
	const calls = 5
	for _, c := range []struct {
		name, values string
		delay        time.Duration // of Triton
		spoil        func(*proxy)  // while the calls run
		fails        bool
	}{
		{"time-out", "envoy: {grpc_route_timeout: 0.5s}", time.Minute, nil, true},
		{"server-dies", "", time.Minute, func(p *proxy) { p.Triton.Down() }, true},
		{"breaker", "envoy: {circuitBreakers: {maxRequests: 1}}", 2 * time.Second, nil, true},
		{"answered", "", 0, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, envoy.ProxyOptions{Values: c.values})
			p.infer(t, codes.OK)
			before := p.failures(t)
			p.Triton.SetDelay(c.delay)
			ended := make(chan codes.Code, calls)
			for range calls {
				go func() { ended <- p.Client.Call(t.Context(), envoy.ModelInfer, nil).Code }()
			}
			if c.spoil != nil {
				envoy.Await(t, settle, "the calls at the replica", func() bool { return p.cluster(t, "upstream_rq_active", service) == calls })
				c.spoil(p)
			}
			failed := 0.0
			for range calls {
				if <-ended != codes.OK {
					failed++
				}
			}
			if (failed > 0) != c.fails {
				t.Errorf("%v of %d calls failed", failed, calls)
			}
			if got := p.failures(t) - before; got != failed {
				t.Errorf("Envoy counts %v of %v failed calls", got, failed)
			}
		})
	}
}

// A call that finds no replica wakes the fleet and is not a failure, whether it is refused or held by the filter.
func TestNoReplicaIsNoFailure(t *testing.T) {
	for _, c := range []struct {
		name, values, method string
		least                time.Duration
	}{
		{"refused", "", envoy.ModelInfer, 0},
		{"held", "envoy: {hold: {enabled: true, maxSeconds: 2}}", envoy.RepositoryIndex, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := fleet(t, c.values)
			envoy.Await(t, settle, "an answer of DNS", func() bool { return p.cluster(t, "update_attempt", service) > 0 })
			if r := p.Client.Call(t.Context(), c.method, nil); r.Code != codes.Unavailable || r.Took < c.least {
				t.Errorf("a call without a server: %v %s after %s, want Unavailable after %s or more", r.Code, r.Message, r.Took, c.least)
			}
			if p.cluster(t, "upstream_cx_none_healthy", service) == 0 {
				t.Error("no call is counted as one that found no replica, so the test proves nothing")
			}
			if got := p.failures(t); got != 0 {
				t.Errorf("%v calls count as failed, want 0", got)
			}
		})
	}
}

// failures returns the numerator of the alert.
func (p *proxy) failures(t testing.TB) float64 {
	t.Helper()
	fives, _ := p.Metrics(t).Sum("envoy_cluster_upstream_rq_xx", "envoy_cluster_name", service, "envoy_response_code_class", "5")
	return fives - p.cluster(t, "upstream_cx_none_healthy", service)
}
