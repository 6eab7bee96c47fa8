package promql

import "slices"

// A Named query is printed by the command, recorded by Prometheus, and shown in
// dashboards and documentation, under the same name everywhere.
type Named struct {
	Name    string // of the command: "needed-replicas"
	Record  string // series that the chart's rules record; empty if there is none
	Unit    string // "requests"; "1" for a ratio
	Summary string // what it measures, one sentence without a full stop
	Build   func(Params) (Query, error)

	// Threshold is what the answer is compared with; nil if there is none. A
	// custom metric replaces the queries that have one.
	Threshold func(Thresholds) float64
}

// Queries are the package's queries, in reading order: first the two that scale and
// protect the fleet, then their terms.
func Queries() []Named { return slices.Clone(queries) }

var queries = []Named{
	{
		Name: "needed-replicas", Record: "supersonic:needed_replicas", Unit: "replicas",
		Summary: "Replicas that the requests in flight need; KEDA divides them by the scaling threshold",
		Build:   NeededReplicas, Threshold: func(t Thresholds) float64 { return t.Scaling },
	},
	{
		Name: "occupancy-ratio", Record: "supersonic:occupancy_ratio", Unit: "1",
		Summary: "Needed replicas per healthy replica; the gate refuses new clients above the admission threshold",
		Build:   OccupancyRatio, Threshold: func(t Thresholds) float64 { return t.Admission },
	},
	{
		Name: "in-flight", Record: "supersonic:in_flight_requests", Unit: "requests",
		Summary: "L, requests between Envoy and Triton: queued, executing or on the wire",
		Build:   InFlightRequests,
	},
	{
		Name: "serving", Record: "supersonic:serving_requests", Unit: "requests",
		Summary: "S, requests that Triton is executing",
		Build:   ServingRequests,
	},
	{
		Name: "replicas", Record: "supersonic:healthy_replicas", Unit: "replicas",
		Summary: "R, healthy replicas: Triton endpoints that Envoy routes to",
		Build:   HealthyReplicas,
	},
	{
		Name: "triton-series", Record: "supersonic:triton_series", Unit: "series",
		Summary: "Series that serving is computed from, one per model and replica; none if Triton is not scraped",
		Build:   TritonSeries,
	},
	{
		Name: "wake-up", Record: "supersonic:calls_without_replica:rate", Unit: "calls per second",
		Summary: "Calls that found no replica; any of them wakes a fleet at zero replicas",
		Build:   WakeUp,
	},
	{
		Name: "clients", Record: "supersonic:clients", Unit: "clients",
		Summary: "N, clients that are connected to Envoy: requests in flight and clients that think",
		Build:   Clients,
	},
	{
		Name: "thinking", Record: "supersonic:thinking_clients", Unit: "clients",
		Summary: "Z, clients that are connected and have no request in flight",
		Build:   ThinkingClients,
	},
	{
		Name: "think-time", Record: "supersonic:think_time_seconds", Unit: "seconds",
		Summary: "Mean time that a connected client spends between its requests; none while no request arrives",
		Build:   ThinkTime,
	},
	{
		Name: "queue-latency", Unit: "milliseconds",
		Summary: "Queue time per executed batch: the previous metric, for comparison",
		Build:   QueueLatency,
	},
}
