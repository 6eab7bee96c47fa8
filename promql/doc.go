// Package promql builds the queries that scale and protect a fleet of Triton
// replicas behind Envoy: how many replicas the requests in flight need, and how
// occupied each replica is.
//
// # The formula
//
// Little's law, L = λW, turns a cumulative counter of request time into a mean
// number of requests: the rate of such a counter is seconds of request time in
// a second. Three measured terms are combined:
//
//	L  in flight         requests between Envoy and Triton: queued, executing or on the wire
//	S  serving           requests that Triton is executing, over all models and replicas
//	R  healthy replicas  Triton endpoints that Envoy routes to
//
//	R'              = max(R, 1)
//	κ               = max(S / R', 1)          unit: requests; concurrency of a replica
//	needed replicas = L / κ                   unit: replicas; extensive, for KEDA
//	occupancy ratio = needed replicas / R'    unit: 1; per replica, for Envoy's gate
//
// Both floors are physical. A replica serves at least one request at a time, and
// with zero replicas the requests in flight are what counts.
//
// An idle fleet has a ratio of 0. A ratio of 1 means that every replica is busy and
// nothing is queued, 2 that requests wait as long as they are served; above that it
// grows linearly with the load. Models are weighted by the time they take, so the
// ratio holds for every mixture of models, without per-model constants.
//
// # The answer
//
// Every query except [QueueLatency] and [TritonSeries] answers with a single series
// without labels, finite and at least 0, whenever Envoy is scraped. The answer is
// empty if the load is unknown, which is not the same as zero:
//
//   - Envoy's membership_healthy has no current sample;
//   - Envoy has been scraped for less than a window (needed replicas and ratio);
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
// tree with what was built, and type-checked, before it is returned. Invalid
// parameters give [FieldErrors]: one [FieldError] for each.
//
// The package depends only on the Prometheus parser.
package promql
