package generate

import (
	"fmt"

	"github.com/fastmachinelearning/supersonic/promql"
)

// of are the label matchers of the release that is picked.
const of = `namespace="$namespace",release="$release"`

// Numbers that stand in the shipped files; the chart puts those of its values in their place.
const (
	shippedMin = 1
	shippedMax = 2
)

// overview says why the fleet has its size.
func overview(formula map[string]string) dashboard {
	scaling := target{"scalingThreshold", fmt.Sprintf("vector(%v)", promql.DefaultScaling), "scaling threshold"}
	admission := target{"admissionThreshold", fmt.Sprintf("vector(%v)", promql.AdmissionFor(promql.DefaultScaling)), "admission threshold"}
	wanted := target{
		"wantedReplicas",
		fmt.Sprintf("clamp(ceil((%s) / %v), %d, %d)", formula["neededReplicas"], promql.DefaultScaling, shippedMin, shippedMax),
		"wanted",
	}
	inFlight := target{"inFlight", formula["inFlight"], "in flight"}
	healthy := target{"replicas", formula["replicas"], "ready"}
	ratio := target{"occupancyRatio", formula["occupancyRatio"], "occupancy ratio"}
	return dashboard{
		file: "default.json", uid: "supersonic", title: "SuperSONIC",
		rows: []row{
			{"Now", []panel{
				{title: "Servers", description: "Triton servers that Envoy routes to, over the rate interval.", unit: "short", stat: true, targets: []target{healthy}},
				{title: "Wanted servers", description: "Needed replicas over the scaling threshold, rounded up, between the fewest and the most: what KEDA asks for; 0 of a fleet that may be at 0 and has no work. The HPA leaves a size alone that is within 10 % of it.", unit: "short", stat: true, targets: []target{wanted}},
				{title: "Occupancy ratio", description: "Work in flight for each request that the fleet can serve at once: 1 means that nothing queues, 2 that requests take twice their service time.", unit: "short", stat: true, targets: []target{ratio}},
				{title: "In flight", description: "Requests between Envoy and Triton: queued, executing, on the wire.", unit: "short", stat: true, targets: []target{inFlight}},
				{title: "Requests", description: "Requests that Envoy sends to servers, a second.", unit: "reqps", stat: true, targets: []target{{"A", requests("envoy_cluster_upstream_rq_total"), "requests"}}},
				{title: "GPU time", description: "GPUs in use, summed over the time range of the dashboard; a GPU counts from its server's first scrape to its last.", unit: "m", stat: true, targets: []target{{"A", fmt.Sprintf("sum_over_time(count(nv_gpu_utilization{%s})[$__range:1m])", of), "GPU-minutes"}}},
			}},
			{"What the formula saw", []panel{
				{title: "Work", description: "L, the requests in flight, and S, the requests that Triton executes. What is between them queues or is on the wire.", unit: "short", width: 12, targets: []target{inFlight, {"serving", formula["serving"], "serving"}}},
				{title: "Occupancy ratio and thresholds", description: "L over the larger of S and the servers. KEDA holds the scaling threshold; the gate, where it is on, turns new clients away above the admission threshold.", unit: "short", width: 12, targets: []target{ratio, scaling, admission}},
				{title: "Servers, wanted and ready", description: "What KEDA asks for, what Envoy routes to, and how many servers run at all. The HPA leaves a size alone that is within 10 % of what KEDA asks for.", unit: "short", width: 12, targets: []target{wanted, healthy, {"A", fmt.Sprintf("count(nv_cpu_memory_total_bytes{%s})", of), "running"}}},
				{title: "What KEDA reads", description: "The metric of the ScaledObject; divided by the scaling threshold it gives servers.", unit: "short", width: 12, targets: []target{{"scalingMetric", formula["neededReplicas"], "metric"}}},
				{title: "Gate", description: "Guarded calls by outcome: allowed, refused above the threshold, decided while the load was unknown or the filter had a fault, held until a server was ready.", unit: "reqps", width: 12, targets: []target{{"A", fmt.Sprintf("sum by (outcome) (rate(envoy_http_lua_gate_outcome{%s}[$__rate_interval]))", of), "{{outcome}}"}}},
				{title: "Calls that found no server", description: "Calls a second while the fleet is at 0: more than none wakes it.", unit: "reqps", width: 12, targets: []target{{"wakeUp", formula["wakeUp"], "calls"}}},
			}},
			{"Cost", []panel{
				{title: "GPUs in use", description: "GPUs of all servers, whether they work or not.", unit: "short", width: 12, targets: []target{{"A", fmt.Sprintf("count(nv_gpu_utilization{%s})", of), "GPUs"}}},
				{title: "GPU time for 1,000 inferences", description: "GPU-seconds that 1,000 inferences cost, idle time included.", unit: "s", width: 12, targets: []target{{"A", fmt.Sprintf("1000 * count(nv_gpu_utilization{%[1]s}) / sum(rate(nv_inference_count{%[1]s}[$__rate_interval]))", of), "GPU-seconds"}}},
			}},
		},
	}
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

// servers shows Triton by model and by server, and the GPUs.
func servers() dashboard {
	gpu := func(series string) string { return fmt.Sprintf("%s{%s}", series, of) }
	return dashboard{
		file: "servers.json", uid: "supersonic-servers", title: "SuperSONIC servers",
		rows: []row{
			{"Models", []panel{
				{title: "Inferences by model", description: "Inferences a second over all servers; a batched request counts each of its items.", unit: "short", targets: []target{{"A", by("model", "nv_inference_count"), "{{model}}"}}},
				{title: "Requests by model", description: "Successful requests a second over all servers.", unit: "reqps", targets: []target{{"A", by("model", "nv_inference_request_success"), "{{model}}"}}},
				{title: "Failed requests", description: "Failed requests a second by model and reason; they add nothing to the serving time.", unit: "reqps", targets: []target{{"A", by("model, reason", "nv_inference_request_failure"), "{{model}} {{reason}}"}}},
				{title: "Queue time by model", description: "Time that a request waits in Triton's queue, per request.", unit: "ms", targets: []target{{"A", perRequest("model", "nv_inference_queue_duration_us"), "{{model}}"}}},
				{title: "Compute time by model", description: "Time that the model computes, per request.", unit: "ms", targets: []target{{"A", perRequest("model", "nv_inference_compute_infer_duration_us"), "{{model}}"}}},
				{title: "Waiting requests by model", description: "Requests that Triton holds and has not begun.", unit: "short", targets: []target{{"A", fmt.Sprintf("sum by (model) (nv_inference_pending_request_count{%s})", of), "{{model}}"}}},
				{title: "Batch size by model", description: "Inferences of one execution: above 1 where Triton batches.", unit: "short", targets: []target{{"A", by("model", "nv_inference_count") + " / " + by("model", "nv_inference_exec_count"), "{{model}}"}}},
				{title: "Latency of a request", description: "Where a request's time goes in Triton, per request, over all models.", unit: "ms", stacked: true, width: 16, targets: []target{
					{"A", perRequest("release", "nv_inference_queue_duration_us"), "queue"},
					{"B", perRequest("release", "nv_inference_compute_input_duration_us"), "input"},
					{"C", perRequest("release", "nv_inference_compute_infer_duration_us"), "inference"},
					{"D", perRequest("release", "nv_inference_compute_output_duration_us"), "output"},
				}},
			}},
			{"Servers", []panel{
				{title: "Inferences by server", description: "Inferences a second of each server, all models.", unit: "short", width: 12, targets: []target{{"A", by("pod", "nv_inference_count"), "{{pod}}"}}},
				{title: "Memory by server", description: "Memory of the host that the server sees in use.", unit: "bytes", width: 12, targets: []target{{"A", gpu("nv_cpu_memory_used_bytes"), "{{pod}}"}}},
			}},
			{"GPUs", []panel{
				{title: "GPU utilization", description: "Part of the time in which a GPU worked, as its driver reports it; nothing on servers without one.", unit: "percentunit", targets: []target{{"A", gpu("nv_gpu_utilization"), "{{pod}} {{gpu_uuid}}"}}},
				{title: "GPU memory", description: "Part of a GPU's memory that is in use.", unit: "percentunit", targets: []target{{"A", gpu("nv_gpu_memory_used_bytes") + " / " + gpu("nv_gpu_memory_total_bytes"), "{{pod}} {{gpu_uuid}}"}}},
				{title: "GPU power", description: "Power of a GPU, of its limit.", unit: "percentunit", targets: []target{{"A", gpu("nv_gpu_power_usage") + " / " + gpu("nv_gpu_power_limit"), "{{pod}} {{gpu_uuid}}"}}},
			}},
		},
	}
}

// proxy shows what Envoy sees of clients and servers.
func proxy() dashboard {
	clients := `envoy_http_conn_manager_prefix="ingress_grpc",` + of
	quantile := func(q string) string {
		return fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(envoy_http_downstream_rq_time_bucket{%s}[$__rate_interval])))", q, clients)
	}
	return dashboard{
		file: "proxy.json", uid: "supersonic-proxy", title: "SuperSONIC proxy",
		rows: []row{
			{"Clients", []panel{
				{title: "Calls by Envoy", description: "Calls that clients make, a second, by Envoy pod.", unit: "reqps", targets: []target{{"A", fmt.Sprintf("sum by (pod) (rate(envoy_http_downstream_rq_total{%s}[$__rate_interval]))", clients), "{{pod}}"}}},
				{title: "Latency of a call", description: "From the call's arrival to the end of the answer, gate and hold included.", unit: "ms", targets: []target{{"A", quantile("0.5"), "p50"}, {"B", quantile("0.9"), "p90"}, {"C", quantile("0.99"), "p99"}}},
				{title: "Open connections", description: "Connections that clients hold, by Envoy pod.", unit: "short", targets: []target{{"A", fmt.Sprintf("sum by (pod) (envoy_http_downstream_cx_active{%s})", clients), "{{pod}}"}}},
			}},
			{"Servers", []panel{
				{title: "Requests and failures", description: "Requests to servers, a second: all, those that a circuit breaker refused since too many waited or ran, those that were reset, tries whose connection was lost or not made, and those that ran out of time.", unit: "reqps", width: 12, targets: []target{
					{"A", requests("envoy_cluster_upstream_rq_total"), "all"},
					{"B", requests("envoy_cluster_upstream_rq_pending_overflow"), "breaker: waiting"},
					{"C", requests("envoy_cluster_upstream_rq_active_overflow"), "breaker: running"},
					{"D", requests("envoy_cluster_upstream_rq_rx_reset"), "reset"},
					{"E", requests("envoy_cluster_upstream_rq_pending_failure_eject"), "connection lost"},
					{"F", requests("envoy_cluster_upstream_rq_timeout"), "timeout"},
				}},
				{title: "Connections to servers", description: "Connections that are open to servers, by Envoy pod.", unit: "short", width: 12, targets: []target{{"A", fmt.Sprintf(`sum by (pod) (envoy_cluster_upstream_cx_active{envoy_cluster_name="triton_grpc_service",%s})`, of), "{{pod}}"}}},
			}},
			{"Gate", []panel{
				{title: "Load that the gate knows", description: "The last load that the filter read from Prometheus, by Envoy pod.", unit: "short", targets: []target{{"A", fmt.Sprintf("envoy_http_lua_gate_load_milli{%s} / 1000", of), "{{pod}}"}}},
				{title: "Age of the load", description: "Time since the load was read; it is read only while there are calls.", unit: "s", targets: []target{{"A", fmt.Sprintf("time() - (envoy_http_lua_gate_at_ms{%s} > 0) / 1000", of), "{{pod}}"}}},
				{title: "Answers of Prometheus", description: "What the filter's queries came back with, a second.", unit: "reqps", targets: []target{{"A", fmt.Sprintf("sum by (answer) (rate(envoy_http_lua_gate_answer{%s}[$__rate_interval]))", of), "{{answer}}"}}},
			}},
			{"Envoy itself", []panel{
				{title: "Memory", description: "Memory that Envoy has allocated.", unit: "bytes", width: 12, targets: []target{{"A", fmt.Sprintf("envoy_server_memory_allocated{%s}", of), "{{pod}}"}}},
				{title: "Uptime", description: "Time since Envoy's start.", unit: "s", width: 12, targets: []target{{"A", fmt.Sprintf("envoy_server_uptime{%s}", of), "{{pod}}"}}},
			}},
		},
	}
}
