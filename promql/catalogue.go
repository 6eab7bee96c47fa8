package promql

// A Named query is one that the command prints, that Prometheus records, and
// that dashboards and docs show, under the same name everywhere.
type Named struct {
	Name    string // of the command: "needed-replicas"
	Record  string // series that the chart's rules record; empty where none is
	Unit    string // "requests"; "1" for a ratio
	Summary string // what it measures, one sentence without a full stop
	Build   func(Params) (Query, error)

	// Threshold is what the answer is compared with; nil where it is compared
	// with nothing. A user's own metric takes the place of a query that has one.
	Threshold func(Thresholds) float64
}

// Queries are the package's queries, in the order in which they are read: the
// two that size and protect the fleet, then what they are made of.
func Queries() []Named {
	return []Named{
		{
			Name: "needed-replicas", Record: "supersonic:needed_replicas", Unit: "replicas",
			Summary: "Replicas that the requests in flight need; KEDA divides it by the scaling threshold",
			Build:   NeededReplicas, Threshold: func(t Thresholds) float64 { return t.Scaling },
		},
		{
			Name: "occupancy-ratio", Record: "supersonic:occupancy_ratio", Unit: "1",
			Summary: "Needed replicas for each healthy replica; the gate refuses above the admission threshold",
			Build:   OccupancyRatio, Threshold: func(t Thresholds) float64 { return t.Admission },
		},
		{
			Name: "in-flight", Record: "supersonic:in_flight_requests", Unit: "requests",
			Summary: "L, requests between Envoy and Triton: queued, executing, on the wire",
			Build:   InFlightRequests,
		},
		{
			Name: "serving", Record: "supersonic:serving_requests", Unit: "requests",
			Summary: "S, requests that Triton executes",
			Build:   ServingRequests,
		},
		{
			Name: "replicas", Record: "supersonic:healthy_replicas", Unit: "replicas",
			Summary: "R, Triton endpoints that Envoy routes to",
			Build:   HealthyReplicas,
		},
		{
			Name: "triton-series", Record: "supersonic:triton_series", Unit: "series",
			Summary: "Series that serving is computed from, one for each model on each replica; none where Triton is not scraped",
			Build:   TritonSeries,
		},
		{
			Name: "wake-up", Record: "supersonic:calls_without_replica:rate", Unit: "calls per second",
			Summary: "Calls that found no healthy replica; more than 0 wakes a fleet that is scaled to zero",
			Build:   WakeUp,
		},
		{
			Name: "queue-latency", Unit: "milliseconds",
			Summary: "Queue time per executed batch: the previous metric, for comparison",
			Build:   QueueLatency,
		},
	}
}

// Terms are the expressions that the queries are composed of, each one part of
// those after it. They promise less than a query: a term may answer although Envoy
// is gone.
func Terms() []Named {
	return []Named{
		{
			Name: "completed", Unit: "requests", Summary: "L by the time of completed requests; empty where it is missing",
			Build: func(p Params) (Query, error) { return compile(p, p.completed()) },
		},
		{
			Name: "active", Unit: "requests", Summary: "L by the gauge of active requests; empty where Envoy is not scraped",
			Build: func(p Params) (Query, error) { return compile(p, p.active()) },
		},
		{
			Name: "in-flight", Unit: "requests", Summary: "L, requests in flight; empty where it is not known",
			Build: func(p Params) (Query, error) { return compile(p, p.inFlight()) },
		},
		{
			Name: "serving", Unit: "requests", Summary: "S, requests that Triton executes; empty where it is not known",
			Build: func(p Params) (Query, error) { return compile(p, p.serving()) },
		},
		{
			Name: "healthy-replicas", Unit: "replicas", Summary: "R, healthy replicas; empty where Envoy is not scraped",
			Build: HealthyReplicas,
		},
		{
			Name: "concurrency", Unit: "requests", Summary: "κ, requests that one replica serves at once, at least 1",
			Build: func(p Params) (Query, error) { return compile(p, p.concurrency()) },
		},
	}
}
