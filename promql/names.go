package promql

// Series of Envoy; all carry the label clusterLabel.
const (
	// requestTimeSum is a counter of milliseconds from the arrival of a whole
	// request to the end of its response.
	requestTimeSum = "envoy_cluster_upstream_rq_time_sum"
	// requestTime is the same as a native histogram, which Prometheus stores
	// instead of the classic one if it is configured to convert them.
	requestTime = "envoy_cluster_upstream_rq_time"
	// responses is a counter of responses by the class of their status. A response
	// of Triton has class 2, with any gRPC status; what Envoy answers itself in its
	// place (no healthy upstream, timeout, reset) has class 5.
	responses = "envoy_cluster_upstream_rq_xx"
	// requestTimeCount is a counter of the same requests.
	requestTimeCount = "envoy_cluster_upstream_rq_time_count"
	// requests is a counter of requests that were sent to Triton, or wait to be.
	// It stands still while Envoy answers itself, and exists from Envoy's start.
	requests = "envoy_cluster_upstream_rq_total"
	// requestsActive is a gauge of requests whose response has not ended.
	requestsActive = "envoy_cluster_upstream_rq_active"
	// membershipHealthy is a gauge of endpoints that Envoy routes to. It exists
	// from Envoy's start, even at 0.
	membershipHealthy = "envoy_cluster_membership_healthy"
	// noneHealthy is a counter of calls that found no endpoint. It exists from
	// Envoy's start.
	noneHealthy = "envoy_cluster_upstream_cx_none_healthy"
	// connections is a gauge of connections to the listener with the label
	// listenerLabel. It exists from Envoy's start.
	connections = "envoy_listener_downstream_cx_active"
)

// Series of Triton; all carry the label modelLabel.
const (
	// requestDuration and queueDuration are counters of microseconds, of
	// successful requests only; the first contains the second.
	requestDuration = "nv_inference_request_duration_us"
	queueDuration   = "nv_inference_queue_duration_us"
	// successes is a counter of the requests that the durations belong to.
	successes = "nv_inference_request_success"
	// executions is a counter of batches.
	executions = "nv_inference_exec_count"
)

const (
	metricNameLabel = "__name__"

	clusterLabel = "envoy_cluster_name"
	classLabel   = "envoy_response_code_class"
	modelLabel   = "model"
	// listenerLabel is the prefix of a listener's statistics, or its address.
	listenerLabel = "envoy_listener_address"

	// clientListener is the chart's listener for clients. The connections of the
	// HTTP connection manager would include those of Envoy to itself.
	clientListener = "clients"

	// tritonCluster is the chart's Envoy cluster that carries inference calls.
	tritonCluster = "triton_grpc_service"

	releaseLabel   = "release"
	namespaceLabel = "namespace"
)

const (
	millisecondsPerSecond = 1e3
	microsecondsPerSecond = 1e6
)
