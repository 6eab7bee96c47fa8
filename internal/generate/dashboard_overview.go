package generate

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/fastmachinelearning/supersonic/promql"
)

// of holds the label matchers of the selected release.
const of = `namespace="$namespace",release="$release"`

// Numbers in the generated files, which the chart replaces with those of the values.
const (
	shippedMin = 1
	shippedMax = 2
)

// overview shows why the fleet has its size.
func overview(formula map[string]string) *board {
	b := newDashboard("supersonic", "SuperSONIC")
	t := newSizing(formula)
	overviewNow(b, t)
	overviewFormula(b, t)
	overviewClients(b, t)
	overviewCost(b)
	return b
}

// sizing holds the queries that more than one panel shows.
type sizing struct {
	formula                                              map[string]string
	scaling, admission, wanted, inFlight, healthy, ratio target
}

func newSizing(formula map[string]string) sizing {
	wanted := fmt.Sprintf("clamp(ceil((%s) / %v), %d, %d)", formula["neededReplicas"], promql.DefaultScaling, shippedMin, shippedMax)
	admission := fmt.Sprintf("vector(%v)", promql.AdmissionFor(promql.DefaultScaling))
	return sizing{
		formula:   formula,
		scaling:   target{"scalingThreshold", fmt.Sprintf("vector(%v)", promql.DefaultScaling), "scaling threshold"},
		admission: target{"admissionThreshold", admission, "admission threshold"},
		wanted:    target{"wantedReplicas", wanted, "wanted"},
		inFlight:  target{"inFlight", formula["inFlight"], "in flight"},
		healthy:   target{"replicas", formula["replicas"], "ready"},
		ratio:     target{"occupancyRatio", formula["occupancyRatio"], "occupancy ratio"},
	}
}

// overviewNow shows current numbers.
func overviewNow(b *board, t sizing) {
	b.WithRow(row("Now")).
		WithPanel(value("Replicas", units.Short,
			"Healthy replicas, which Envoy routes to: the mean over the rate interval.",
			t.healthy,
		)).
		WithPanel(value("Replicas wanted", units.Short,
			"Needed replicas divided by the scaling threshold, rounded up, within the minimum and maximum: what KEDA asks for. 0 "+
				"if the fleet may be at zero replicas and is idle. The HPA ignores differences within 10 %.",
			t.wanted,
		)).
		WithPanel(value("Occupancy ratio", units.Short,
			"Needed replicas per healthy replica: 1 means that all replicas are busy and nothing is queued, 2 that requests take "+
				"twice their service time.",
			t.ratio,
		)).
		WithPanel(value("In flight", units.Short,
			"Requests between Envoy and Triton: queued, executing or on the wire.",
			t.inFlight,
		)).
		WithPanel(value("Requests", units.RequestsPerSecond,
			"Requests per second from Envoy to Triton.",
			target{"A", requests("envoy_cluster_upstream_rq_total"), "requests"},
		)).
		WithPanel(value("GPU time", units.Minutes,
			"GPUs in use, summed over the time range of the dashboard; a GPU counts from the first to the last scrape of its "+
				"replica.",
			target{"A", fmt.Sprintf("sum_over_time(count(nv_gpu_utilization{%s})[$__range:1m])", of), "GPU-minutes"},
		))
}

// overviewFormula shows the terms of the formula over time.
func overviewFormula(b *board, t sizing) {
	b.WithRow(row("Formula")).
		WithPanel(graph(half, "Requests in flight and serving", units.Short,
			"L, the requests in flight, and S, the requests that Triton is executing. The difference is queued or on the wire.",
			t.inFlight,
			target{"serving", t.formula["serving"], "serving"},
		)).
		WithPanel(graph(half, "Occupancy ratio and thresholds", units.Short,
			"Needed replicas per healthy replica. KEDA keeps it at the scaling threshold; the gate, if enabled, refuses new "+
				"clients above the admission threshold.",
			t.ratio,
			t.scaling,
			t.admission,
		)).
		WithPanel(graph(half, "Replicas: wanted, ready and running", units.Short,
			"Replicas that KEDA asks for, that Envoy routes to, and that are running. The HPA ignores differences within 10 % of "+
				"what KEDA asks for.",
			t.wanted,
			t.healthy,
			target{"A", fmt.Sprintf("count(nv_cpu_memory_total_bytes{%s})", of), "running"},
		)).
		WithPanel(graph(half, "Scaling metric", units.Short,
			"The metric of the ScaledObject; divided by the scaling threshold, it gives the replicas wanted.",
			target{"scalingMetric", t.formula["neededReplicas"], "metric"},
		)).
		WithPanel(graph(half, "Gate", units.RequestsPerSecond,
			"Guarded calls by outcome: allowed, refused above the threshold, decided while the load was unknown or the filter "+
				"failed, held until a replica was ready.",
			target{"A", fmt.Sprintf("sum by (outcome) (rate(envoy_http_lua_gate_outcome{%s}[$__rate_interval]))", of), "{{outcome}}"},
		)).
		WithPanel(graph(half, "Calls that found no replica", units.RequestsPerSecond,
			"Calls per second while there is no replica: any call wakes the fleet.",
			target{"wakeUp", t.formula["wakeUp"], "calls"},
		))
}

// overviewClients shows who is connected, which is what the formula for clients that think counts.
func overviewClients(b *board, t sizing) {
	b.WithRow(row("Clients")).
		WithPanel(graph(half, "Clients: connected and thinking", units.Short,
			"Z, the clients that think: client connections less requests in flight, at least 0. N, all clients: Z plus the requests "+
				"in flight. Clients that share connections, as behind an Ingress, are not seen while they think.",
			target{"clients", t.formula["clients"], "connected"},
			target{"thinking", t.formula["thinking"], "thinking"},
		)).
		WithPanel(graph(half, "Think time", units.Seconds,
			"Mean time that a connected client spends between its requests: Z over requests per second. None while no request "+
				"arrives.",
			target{"thinkTime", t.formula["thinkTime"], "think time"},
		))
}

// overviewCost shows the GPUs that the fleet takes.
func overviewCost(b *board) {
	b.WithRow(row("Cost")).
		WithPanel(graph(half, "GPUs in use", units.Short,
			"GPUs of all replicas, busy or idle.",
			target{"A", fmt.Sprintf("count(nv_gpu_utilization{%s})", of), "GPUs"},
		)).
		WithPanel(graph(half, "GPU time for 1,000 inferences", units.Seconds,
			"GPU-seconds per 1,000 inferences, including idle time.",
			target{
				"A", fmt.Sprintf("1000 * count(nv_gpu_utilization{%[1]s}) / sum(rate(nv_inference_count{%[1]s}[$__rate_interval]))", of),
				"GPU-seconds",
			},
		))
}

// requests is the rate of one of Envoy's counters of the Triton cluster.
func requests(series string) string {
	return fmt.Sprintf(`sum(rate(%s{envoy_cluster_name="triton_grpc_service",%s}[$__rate_interval]))`, series, of)
}

// by is the rate of a counter of Triton, by a label.
func by(label, series string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[$__rate_interval]))", label, series, of)
}

// perRequest is a duration of Triton for each successful request, in milliseconds.
func perRequest(label, series string) string {
	return fmt.Sprintf("%s / %s / 1000", by(label, series), by(label, "nv_inference_request_success"))
}
