package promql

// Series of Envoy; all carry the label clusterLabel.
const (
	// requestTimeSum is a counter of milliseconds from the arrival of a whole
	// request to the end of its response.
	requestTimeSum = "envoy_cluster_upstream_rq_time_sum"
	// requestsActive is a gauge of requests that wait for the end of a response.
	requestsActive = "envoy_cluster_upstream_rq_active"
	// membershipHealthy is a gauge of endpoints that Envoy routes to. It exists
	// from Envoy's start, at 0 as well.
	membershipHealthy = "envoy_cluster_membership_healthy"
	// noneHealthy is a counter of calls that found no endpoint. It exists from
	// Envoy's start.
	noneHealthy = "envoy_cluster_upstream_cx_none_healthy"
)

// Series of Triton; all carry the label modelLabel.
const (
	// requestDuration and queueDuration are counters of microseconds, of
	// successful requests only; the first contains the second.
	requestDuration = "nv_inference_request_duration_us"
	queueDuration   = "nv_inference_queue_duration_us"
	// executions is a counter of batches.
	executions = "nv_inference_exec_count"
)

const (
	metricNameLabel = "__name__"

	clusterLabel = "envoy_cluster_name"
	modelLabel   = "model"

	// tritonCluster is the chart's Envoy cluster that carries inference calls.
	tritonCluster = "triton_grpc_service"

	releaseLabel   = "release"
	namespaceLabel = "namespace"
)

const (
	millisecondsPerSecond = 1e3
	microsecondsPerSecond = 1e6
)
