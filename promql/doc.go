// Package promql builds the queries that size and protect a Triton fleet
// behind Envoy: how many replicas the work in flight needs, and how occupied
// each replica is.
//
// # The formula
//
// Little's law, L = λW, turns a cumulative counter of request time into a mean
// number of requests: the rate of such a counter is seconds of request time in
// a second. Three measured terms are combined:
//
//	L  in flight         requests between Envoy and Triton: queued, executing, on the wire
//	S  serving           requests that Triton executes, all models and replicas
//	R  healthy replicas  Triton endpoints that Envoy routes to
//
//	R'              = max(R, 1)
//	κ               = max(S / R', 1)          unit: requests; what one replica serves at once
//	needed replicas = L / κ                   unit: replicas; extensive, for KEDA
//	occupancy ratio = needed replicas / R'    unit: 1; per replica, for Envoy's gate
//
// Both floors are physical. A replica serves at least one request at a time, and
// without replicas the number that the work needs is the number of requests in
// flight.
//
// An idle replica reads 0. A ratio of 1 says that replicas are busy and nothing
// queues, 2 that requests wait as long as they are served; above that it grows
// linearly with the overload. Models are weighted by the time they take, so the
// reading holds for every mixture and no constant belongs to a model.
//
// # The answer
//
// Every query but [QueueLatency] and [TritonSeries] answers with one series that
// has no labels, finite and at least 0, whenever Envoy is scraped. It answers with
// nothing where the answer is not known, which is not zero:
//
//   - Envoy's membership_healthy has no current sample;
//   - Triton answered requests in the window, and Envoy's request time is missing;
//   - Triton counted requests in the window, and their durations are missing.
//
// The last two concern the queries that read the time in question. Envoy's request
// time is read from a classic or from a native histogram.
//
// # Use
//
// Start from [ForRelease], change what differs, and build:
//
//	q, err := promql.NeededReplicas(promql.ForRelease("sonic", "cms"))
//	fmt.Println(q)
//
// Every query is printed, parsed again by Prometheus' own parser, compared as a
// tree with what was built, and typed, before it is handed out. Invalid
// parameters give [FieldErrors]: one [FieldError] for each.
//
// The package needs nothing but Prometheus' parser.
package promql
