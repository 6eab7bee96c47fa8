package generate

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// proxy shows what Envoy sees of clients and replicas.
func proxy() *board {
	b := newDashboard("supersonic-proxy", "SuperSONIC proxy")
	proxyClients(b)
	proxyReplicas(b)
	proxyGate(b)
	proxyItself(b)
	return b
}

// proxyClients shows the calls of clients.
func proxyClients(b *board) {
	clients := `envoy_http_conn_manager_prefix="ingress_grpc",` + of
	quantile := func(q string) string {
		return fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(envoy_http_downstream_rq_time_bucket{%s}[$__rate_interval])))", q, clients)
	}
	b.WithRow(row("Clients")).
		WithPanel(graph(third, "Calls by Envoy", units.RequestsPerSecond,
			"Calls from clients per second, by Envoy pod.",
			target{"A", fmt.Sprintf("sum by (pod) (rate(envoy_http_downstream_rq_total{%s}[$__rate_interval]))", clients), "{{pod}}"},
		)).
		WithPanel(graph(third, "Latency of a call", units.Milliseconds,
			"From the arrival of a call to the end of the answer, including gate and hold.",
			target{"A", quantile("0.5"), "p50"},
			target{"B", quantile("0.9"), "p90"},
			target{"C", quantile("0.99"), "p99"},
		)).
		WithPanel(graph(third, "Open connections", units.Short,
			"Open client connections, by Envoy pod.",
			target{"A", fmt.Sprintf("sum by (pod) (envoy_http_downstream_cx_active{%s})", clients), "{{pod}}"},
		))
}

// proxyReplicas shows the requests to Triton.
func proxyReplicas(b *board) {
	b.WithRow(row("Replicas")).
		WithPanel(graph(half, "Requests and failures", units.RequestsPerSecond,
			"Requests to Triton per second: all of them, and those that failed because a circuit breaker was full (waiting or "+
				"running requests), the stream was reset, the connection failed or was lost, or the request timed out.",
			target{"A", requests("envoy_cluster_upstream_rq_total"), "all"},
			target{"B", requests("envoy_cluster_upstream_rq_pending_overflow"), "breaker: waiting"},
			target{"C", requests("envoy_cluster_upstream_rq_active_overflow"), "breaker: running"},
			target{"D", requests("envoy_cluster_upstream_rq_rx_reset"), "reset"},
			target{"E", requests("envoy_cluster_upstream_rq_pending_failure_eject"), "connection lost"},
			target{"F", requests("envoy_cluster_upstream_rq_timeout"), "timeout"},
		)).
		WithPanel(graph(half, "Connections to replicas", units.Short,
			"Open connections to Triton, by Envoy pod.",
			target{"A", fmt.Sprintf(`sum by (pod) (envoy_cluster_upstream_cx_active{envoy_cluster_name="triton_grpc_service",%s})`, of), "{{pod}}"},
		))
}

// proxyGate shows what the gate knows.
func proxyGate(b *board) {
	b.WithRow(row("Gate")).
		WithPanel(graph(third, "Load known to the gate", units.Short,
			"The last load that the filter read from Prometheus, by Envoy pod.",
			target{"A", fmt.Sprintf("envoy_http_lua_gate_load_milli{%s} / 1000", of), "{{pod}}"},
		)).
		WithPanel(graph(third, "Age of the load", units.Seconds,
			"Time since the load was read; it is read only while there are calls.",
			target{"A", fmt.Sprintf("time() - (envoy_http_lua_gate_at_ms{%s} > 0) / 1000", of), "{{pod}}"},
		)).
		WithPanel(graph(third, "Answers from Prometheus", units.RequestsPerSecond,
			"Answers to the filter's queries per second, by kind.",
			target{"A", fmt.Sprintf("sum by (answer) (rate(envoy_http_lua_gate_answer{%s}[$__rate_interval]))", of), "{{answer}}"},
		))
}

// proxyItself shows the processes of Envoy.
func proxyItself(b *board) {
	b.WithRow(row("Envoy")).
		WithPanel(graph(half, "Memory", units.BytesIEC,
			"Memory that Envoy has allocated.",
			target{"A", fmt.Sprintf("envoy_server_memory_allocated{%s}", of), "{{pod}}"},
		)).
		WithPanel(graph(half, "Uptime", units.Seconds,
			"Time since Envoy started.",
			target{"A", fmt.Sprintf("envoy_server_uptime{%s}", of), "{{pod}}"},
		))
}
