package promql

import "github.com/prometheus/prometheus/promql/parser"

// InFlightRequests is L, the mean number of requests between Envoy and Triton:
// queued, executing or on the wire. Source: Envoy's request time. Unit: requests.
func InFlightRequests(p Params) (Query, error) {
	return compile(p, p.known(p.inFlight()))
}

// ServingRequests is S, the mean number of requests that Triton is executing, over
// all replicas and all models that are not excluded. Source: Triton's request
// and queue durations. Unit: requests.
func ServingRequests(p Params) (Query, error) {
	return compile(p, p.known(atLeast(p.serving(), 0)))
}

// TritonSeries counts the series that [ServingRequests] reads, one per model and
// replica. Its answer is empty if no Triton is scraped, or none reports durations,
// where [ServingRequests] answers 0. Unit: series.
func TritonSeries(p Params) (Query, error) {
	return compile(p, count(p.triton(requestDuration)))
}

// HealthyReplicas is R before its floor of 1, the number of Triton endpoints
// that Envoy routes to. Source: Envoy's membership_healthy. Unit: replicas.
func HealthyReplicas(p Params) (Query, error) {
	return compile(p, p.healthy())
}

// WakeUp is the rate of calls that found no replica, the only sign of load at zero
// replicas. Unit: calls per second; more than 0 wakes the fleet.
func WakeUp(p Params) (Query, error) {
	return compile(p, p.known(orZero(sum(rate(p.envoy(noneHealthy), p.RateInterval)))))
}

// QueueLatency is the previous metric, for comparison: queue time per executed
// batch. Unit: milliseconds. Its answer is empty if no Triton is scraped.
func QueueLatency(p Params) (Query, error) {
	// Added to each series, as in chart 0.3.1, so that an idle fleet reads 0.
	const nearlyNone = 0.001
	queued := sum(rate(p.triton(queueDuration), p.RateInterval))
	batches := sum(add(mul(rate(p.triton(executions), p.RateInterval), number(millisecondsPerSecond)), number(nearlyNone)))
	return compile(p, div(queued, batches))
}

// known is e while an Envoy is scraped, and nothing otherwise.
func (p Params) known(e parser.Expr) parser.Expr { return and(e, p.healthy()) }
