package generate

import (
	"fmt"

	"github.com/fastmachinelearning/supersonic/promql"
)

// of are the label matchers of the selected release.
const of = `namespace="$namespace",release="$release"`

// Numbers in the shipped files, which the chart replaces with those of its values.
const (
	shippedMin = 1
	shippedMax = 2
)

// overview shows why the fleet has its size.
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
				{title: "Replicas", description: "Healthy replicas, which Envoy routes to: the mean over the rate interval.", unit: "short", stat: true, targets: []target{healthy}},
				{title: "Replicas wanted", description: "Needed replicas divided by the scaling threshold, rounded up, within the minimum and maximum: what KEDA asks for. 0 if the fleet may be at zero replicas and is idle. The HPA ignores differences within 10 %.", unit: "short", stat: true, targets: []target{wanted}},
				{title: "Occupancy ratio", description: "Needed replicas per healthy replica: 1 means that all replicas are busy and nothing is queued, 2 that requests take twice their service time.", unit: "short", stat: true, targets: []target{ratio}},
				{title: "In flight", description: "Requests between Envoy and Triton: queued, executing or on the wire.", unit: "short", stat: true, targets: []target{inFlight}},
				{title: "Requests", description: "Requests per second from Envoy to Triton.", unit: "reqps", stat: true, targets: []target{{"A", requests("envoy_cluster_upstream_rq_total"), "requests"}}},
				{title: "GPU time", description: "GPUs in use, summed over the time range of the dashboard; a GPU counts from the first to the last scrape of its replica.", unit: "m", stat: true, targets: []target{{"A", fmt.Sprintf("sum_over_time(count(nv_gpu_utilization{%s})[$__range:1m])", of), "GPU-minutes"}}},
			}},
			{"Formula", []panel{
				{title: "Requests in flight and serving", description: "L, the requests in flight, and S, the requests that Triton is executing. The difference is queued or on the wire.", unit: "short", width: 12, targets: []target{inFlight, {"serving", formula["serving"], "serving"}}},
				{title: "Occupancy ratio and thresholds", description: "Needed replicas per healthy replica. KEDA keeps it at the scaling threshold; the gate, if enabled, refuses new clients above the admission threshold.", unit: "short", width: 12, targets: []target{ratio, scaling, admission}},
				{title: "Replicas: wanted, ready and running", description: "Replicas that KEDA asks for, that Envoy routes to, and that are running. The HPA ignores differences within 10 % of what KEDA asks for.", unit: "short", width: 12, targets: []target{wanted, healthy, {"A", fmt.Sprintf("count(nv_cpu_memory_total_bytes{%s})", of), "running"}}},
				{title: "Scaling metric", description: "The metric of the ScaledObject; divided by the scaling threshold, it gives the replicas wanted.", unit: "short", width: 12, targets: []target{{"scalingMetric", formula["neededReplicas"], "metric"}}},
				{title: "Gate", description: "Guarded calls by outcome: allowed, refused above the threshold, decided while the load was unknown or the filter failed, held until a replica was ready.", unit: "reqps", width: 12, targets: []target{{"A", fmt.Sprintf("sum by (outcome) (rate(envoy_http_lua_gate_outcome{%s}[$__rate_interval]))", of), "{{outcome}}"}}},
				{title: "Calls that found no replica", description: "Calls per second while there is no replica: any call wakes the fleet.", unit: "reqps", width: 12, targets: []target{{"wakeUp", formula["wakeUp"], "calls"}}},
			}},
			{"Cost", []panel{
				{title: "GPUs in use", description: "GPUs of all replicas, busy or idle.", unit: "short", width: 12, targets: []target{{"A", fmt.Sprintf("count(nv_gpu_utilization{%s})", of), "GPUs"}}},
				{title: "GPU time for 1,000 inferences", description: "GPU-seconds per 1,000 inferences, including idle time.", unit: "s", width: 12, targets: []target{{"A", fmt.Sprintf("1000 * count(nv_gpu_utilization{%[1]s}) / sum(rate(nv_inference_count{%[1]s}[$__rate_interval]))", of), "GPU-seconds"}}},
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

// triton shows Triton by model and by replica, and the GPUs.
func triton() dashboard {
	gpu := func(series string) string { return fmt.Sprintf("%s{%s}", series, of) }
	return dashboard{
		file: "servers.json", uid: "supersonic-servers", title: "SuperSONIC Triton",
		rows: []row{
			{"Models", []panel{
				{title: "Inferences by model", description: "Inferences per second over all replicas; a batched request counts each of its items.", unit: "short", targets: []target{{"A", by("model", "nv_inference_count"), "{{model}}"}}},
				{title: "Requests by model", description: "Successful requests per second over all replicas.", unit: "reqps", targets: []target{{"A", by("model", "nv_inference_request_success"), "{{model}}"}}},
				{title: "Failed requests", description: "Failed requests per second by model and reason; they do not count as serving time.", unit: "reqps", targets: []target{{"A", by("model, reason", "nv_inference_request_failure"), "{{model}} {{reason}}"}}},
				{title: "Queue time by model", description: "Time in Triton's queue, per request.", unit: "ms", targets: []target{{"A", perRequest("model", "nv_inference_queue_duration_us"), "{{model}}"}}},
				{title: "Compute time by model", description: "Time that the model computes, per request.", unit: "ms", targets: []target{{"A", perRequest("model", "nv_inference_compute_infer_duration_us"), "{{model}}"}}},
				{title: "Queued requests by model", description: "Requests that Triton has received but not started.", unit: "short", targets: []target{{"A", fmt.Sprintf("sum by (model) (nv_inference_pending_request_count{%s})", of), "{{model}}"}}},
				{title: "Batch size by model", description: "Inferences per execution: above 1 if Triton batches.", unit: "short", targets: []target{{"A", by("model", "nv_inference_count") + " / " + by("model", "nv_inference_exec_count"), "{{model}}"}}},
				{title: "Latency of a request", description: "Time spent in Triton per request, by stage, over all models.", unit: "ms", stacked: true, width: 16, targets: []target{
					{"A", perRequest("release", "nv_inference_queue_duration_us"), "queue"},
					{"B", perRequest("release", "nv_inference_compute_input_duration_us"), "input"},
					{"C", perRequest("release", "nv_inference_compute_infer_duration_us"), "inference"},
					{"D", perRequest("release", "nv_inference_compute_output_duration_us"), "output"},
				}},
			}},
			{"Replicas", []panel{
				{title: "Inferences by replica", description: "Inferences per second of each replica, over all models.", unit: "short", width: 12, targets: []target{{"A", by("pod", "nv_inference_count"), "{{pod}}"}}},
				{title: "Memory by replica", description: "Memory of the host in use, as Triton reports it.", unit: "bytes", width: 12, targets: []target{{"A", gpu("nv_cpu_memory_used_bytes"), "{{pod}}"}}},
			}},
			{"GPUs", []panel{
				{title: "GPU utilization", description: "Share of the time that a GPU was busy, as its driver reports it; no data without a GPU.", unit: "percentunit", targets: []target{{"A", gpu("nv_gpu_utilization"), "{{pod}} {{gpu_uuid}}"}}},
				{title: "GPU memory", description: "Share of the GPU's memory in use.", unit: "percentunit", targets: []target{{"A", gpu("nv_gpu_memory_used_bytes") + " / " + gpu("nv_gpu_memory_total_bytes"), "{{pod}} {{gpu_uuid}}"}}},
				{title: "GPU power", description: "Power draw of a GPU as a share of its limit.", unit: "percentunit", targets: []target{{"A", gpu("nv_gpu_power_usage") + " / " + gpu("nv_gpu_power_limit"), "{{pod}} {{gpu_uuid}}"}}},
			}},
		},
	}
}

// proxy shows what Envoy sees of clients and replicas.
func proxy() dashboard {
	clients := `envoy_http_conn_manager_prefix="ingress_grpc",` + of
	quantile := func(q string) string {
		return fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(envoy_http_downstream_rq_time_bucket{%s}[$__rate_interval])))", q, clients)
	}
	return dashboard{
		file: "proxy.json", uid: "supersonic-proxy", title: "SuperSONIC proxy",
		rows: []row{
			{"Clients", []panel{
				{title: "Calls by Envoy", description: "Calls from clients per second, by Envoy pod.", unit: "reqps", targets: []target{{"A", fmt.Sprintf("sum by (pod) (rate(envoy_http_downstream_rq_total{%s}[$__rate_interval]))", clients), "{{pod}}"}}},
				{title: "Latency of a call", description: "From the arrival of a call to the end of the answer, including gate and hold.", unit: "ms", targets: []target{{"A", quantile("0.5"), "p50"}, {"B", quantile("0.9"), "p90"}, {"C", quantile("0.99"), "p99"}}},
				{title: "Open connections", description: "Open client connections, by Envoy pod.", unit: "short", targets: []target{{"A", fmt.Sprintf("sum by (pod) (envoy_http_downstream_cx_active{%s})", clients), "{{pod}}"}}},
			}},
			{"Replicas", []panel{
				{title: "Requests and failures", description: "Requests to Triton per second: all of them, and those that failed because a circuit breaker was full (waiting or running requests), the stream was reset, the connection failed or was lost, or the request timed out.", unit: "reqps", width: 12, targets: []target{
					{"A", requests("envoy_cluster_upstream_rq_total"), "all"},
					{"B", requests("envoy_cluster_upstream_rq_pending_overflow"), "breaker: waiting"},
					{"C", requests("envoy_cluster_upstream_rq_active_overflow"), "breaker: running"},
					{"D", requests("envoy_cluster_upstream_rq_rx_reset"), "reset"},
					{"E", requests("envoy_cluster_upstream_rq_pending_failure_eject"), "connection lost"},
					{"F", requests("envoy_cluster_upstream_rq_timeout"), "timeout"},
				}},
				{title: "Connections to replicas", description: "Open connections to Triton, by Envoy pod.", unit: "short", width: 12, targets: []target{{"A", fmt.Sprintf(`sum by (pod) (envoy_cluster_upstream_cx_active{envoy_cluster_name="triton_grpc_service",%s})`, of), "{{pod}}"}}},
			}},
			{"Gate", []panel{
				{title: "Load known to the gate", description: "The last load that the filter read from Prometheus, by Envoy pod.", unit: "short", targets: []target{{"A", fmt.Sprintf("envoy_http_lua_gate_load_milli{%s} / 1000", of), "{{pod}}"}}},
				{title: "Age of the load", description: "Time since the load was read; it is read only while there are calls.", unit: "s", targets: []target{{"A", fmt.Sprintf("time() - (envoy_http_lua_gate_at_ms{%s} > 0) / 1000", of), "{{pod}}"}}},
				{title: "Answers from Prometheus", description: "Answers to the filter's queries per second, by kind.", unit: "reqps", targets: []target{{"A", fmt.Sprintf("sum by (answer) (rate(envoy_http_lua_gate_answer{%s}[$__rate_interval]))", of), "{{answer}}"}}},
			}},
			{"Envoy", []panel{
				{title: "Memory", description: "Memory that Envoy has allocated.", unit: "bytes", width: 12, targets: []target{{"A", fmt.Sprintf("envoy_server_memory_allocated{%s}", of), "{{pod}}"}}},
				{title: "Uptime", description: "Time since Envoy started.", unit: "s", width: 12, targets: []target{{"A", fmt.Sprintf("envoy_server_uptime{%s}", of), "{{pod}}"}}},
			}},
		},
	}
}
