{{- /*
The Triton replicas. Panic mode is off: a call that finds no usable replica is
answered at once, instead of being sent to a replica that is known to be dead. That
answer wakes a fleet at zero replicas, and is what the hold waits on.
*/ -}}
{{- define "supersonic.envoy.clientClusters" -}}
{{- $envoy := .Values.envoy -}}
- name: triton_grpc_service
  {{- include "supersonic.envoy.tritonEndpoints" (list . "triton_grpc_service") | nindent 2 }}
  {{- include "supersonic.envoy.loadBalancing" . | nindent 2 }}
  # Without a merge window, a change of health takes effect at once, not up to a second after membership_healthy shows it.
  common_lb_config: {healthy_panic_threshold: {value: 0}, update_merge_window: 0s}
  # A replica that has left DNS gets no new calls, even if it still answers.
  ignore_health_on_host_removal: true
  {{- with $envoy.healthCheck }}
  {{- if .enabled }}
  health_checks:
  # ServerReady, because Triton before 2023 has no grpc.health.v1. It sends an empty message and expects {ready: true}.
  - http_health_check:
      path: {{ include "supersonic.envoy.inferenceService" $ }}ServerReady
      method: POST
      codec_client_type: HTTP2
      request_headers_to_add:
      - header: {key: content-type, value: application/grpc}
      - header: {key: te, value: trailers}
      send: {text: "0000000000"}
      receive: [{text: "00000000020801"}]
    timeout: {{ .timeout }}
    interval: {{ .interval }}
    # A replica that gets no calls is checked more often, because calls may be waiting for it; that is cheap, and a lack of
    # calls is no reason to check less. A replica is still given up after interval × unhealthyThreshold.
    unhealthy_interval: {{ include "supersonic.envoy.unhealthyInterval" . }}
    unhealthy_edge_interval: {{ .interval }}
    no_traffic_interval: {{ include "supersonic.envoy.unhealthyInterval" . }}
    no_traffic_healthy_interval: {{ .interval }}
    unhealthy_threshold: {{ int64 .unhealthyThreshold }}
    healthy_threshold: 1
  {{- end }}
  {{- end }}
  {{- with $envoy.outlierDetection }}
  {{- if .enabled }}
  # Only connection failures count: an error that a replica returns can be the caller's fault.
  outlier_detection:
    split_external_local_origin_errors: true
    consecutive_local_origin_failure: {{ int64 .consecutiveFailures }}
    enforcing_consecutive_local_origin_failure: 100
    enforcing_local_origin_success_rate: 0
    enforcing_consecutive_5xx: 0
    enforcing_consecutive_gateway_failure: 0
    enforcing_success_rate: 0
    interval: 1s
    base_ejection_time: {{ .ejectionTime }}
    max_ejection_time: 300s
    max_ejection_percent: {{ int64 .maxEjectionPercent }}
  {{- end }}
  {{- end }}
{{- /* A separate cluster keeps health methods out of the load and the wake-up, which both read triton_grpc_service. */}}
- name: triton_grpc_health
  {{- include "supersonic.envoy.tritonEndpoints" (list . "triton_grpc_health") | nindent 2 }}
  lb_policy: ROUND_ROBIN
{{- with include "supersonic.envoy.authClusters" . | trim }}
{{ . }}
{{- end }}
{{- if include "supersonic.envoy.traced" . }}
{{ include "supersonic.envoy.tracingCluster" . }}
{{- end }}
{{- end -}}

{{- /* Takes envoy.healthCheck. */ -}}
{{- define "supersonic.envoy.unhealthyInterval" -}}
{{- if lt (include "supersonic.envoy.seconds" .interval | float64) 0.25 }}{{ .interval }}{{ else }}0.25s{{ end -}}
{{- end -}}

{{- /* Takes a list: the root context, the name of the cluster. */ -}}
{{- define "supersonic.envoy.tritonEndpoints" -}}
{{- $envoy := (first .).Values.envoy -}}
{{- $limits := $envoy.circuitBreakers -}}
cluster_type:
  name: envoy.cluster.dns
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
    dns_refresh_rate: 1s
    dns_failure_refresh_rate: {base_interval: 1s, max_interval: 2s}
    dns_lookup_family: V4_PREFERRED
connect_timeout: {{ $envoy.connectTimeout }}
per_connection_buffer_limit_bytes: {{ int64 $envoy.bufferLimitBytes }}
circuit_breakers:
  thresholds:
  - max_connections: {{ int64 $limits.maxConnections }}
    max_pending_requests: {{ int64 $limits.maxPendingRequests }}
    max_requests: {{ int64 $limits.maxRequests }}
    max_retries: {{ int64 $limits.maxRetries }}
    track_remaining: true
typed_extension_protocol_options:
  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
    "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
    explicit_http_config:
      http2_protocol_options:
        max_concurrent_streams: 1024
        initial_stream_window_size: {{ int64 $envoy.http2.streamWindowBytes }}
        # All clients of a worker share the connection, so only the windows of the calls limit what is buffered:
        # a client that does not read delays no other.
        initial_connection_window_size: 2147483647
# Triton's gRPC server closes connections that ping more often than every 5 minutes, so TCP keepalive detects dead peers.
upstream_connection_options:
  tcp_keepalive: {keepalive_probes: 3, keepalive_time: 30, keepalive_interval: 10}
load_assignment:
  cluster_name: {{ last . }}
  endpoints:
  - lb_endpoints:
    - endpoint:
        address:
          socket_address:
            address: {{ include "supersonic.envoy.tritonHost" (first .) }}
            port_value: {{ include "supersonic.envoy.tritonPort" (first .) }}
{{- end -}}

{{- /* With few and slow replicas, it pays to find the least loaded of all, not the better of two. */ -}}
{{- define "supersonic.envoy.loadBalancing" -}}
{{- $policy := .Values.envoy.loadBalancerPolicy -}}
{{- $slow := .Values.envoy.slowStart.window -}}
{{- $types := dict
  "LEAST_REQUEST" "least_request.v3.LeastRequest"
  "ROUND_ROBIN" "round_robin.v3.RoundRobin"
  "RANDOM" "random.v3.Random"
  "RING_HASH" "ring_hash.v3.RingHash"
  "MAGLEV" "maglev.v3.Maglev" -}}
load_balancing_policy:
  policies:
  - typed_extension_config:
      name: envoy.load_balancing_policies.{{ lower $policy }}
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.load_balancing_policies.{{ get $types $policy }}
        {{- if eq $policy "LEAST_REQUEST" }}
        selection_method: FULL_SCAN
        {{- end }}
        {{- if $slow }}
        slow_start_config: {slow_start_window: {{ $slow }}}
        {{- end }}
{{- end -}}

{{- /* Clusters of the chart's own listeners, also used with a custom configuration. Takes the root context. */ -}}
{{- define "supersonic.envoy.ownClusters" -}}
- name: supersonic_admin
  connect_timeout: 1s
  load_assignment:
    cluster_name: supersonic_admin
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: {{ include "supersonic.envoy.adminPort" . }}}}}
{{- if eq .Values.envoy.drain.method "hook" }}
{{- /* However many GETs others send to the hook, the kubelet's gets its pauses. */}}
{{ include "supersonic.gate.internalCluster" (dict "name" "drain_clock" "listener" "drain_clock" "limit" 1000000) }}
{{ include "supersonic.gate.internalCluster" (dict "name" "drain_work" "listener" "drain_work" "limit" 1000000) }}
{{- end }}
{{- if include "supersonic.gate.enabled" . }}
{{ include "supersonic.gate.clusters" (include "supersonic.gate.settings" . | fromJson) }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.tracingCluster" -}}
{{- $tracing := .Values.envoy.tracing -}}
- name: opentelemetry_collector
  connect_timeout: 1s
  {{- include "supersonic.envoy.dns" . | nindent 2 }}
  typed_extension_protocol_options:
    envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
      "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
      explicit_http_config: {http2_protocol_options: {}}
  {{- if and $tracing.host $tracing.tls }}
  {{- include "supersonic.envoy.clientTLS" (dict "host" $tracing.host "sds" "") | nindent 2 }}
  {{- end }}
  load_assignment:
    cluster_name: opentelemetry_collector
    endpoints:
    - lb_endpoints:
      - endpoint:
          address:
            socket_address:
              {{- if $tracing.host }}
              address: {{ toJson $tracing.host }}
              port_value: {{ int64 $tracing.port }}
              {{- else }}
              address: {{ include "supersonic.names.host" (list . "opentelemetry-collector") }}.
              port_value: 4317
              {{- end }}
{{- end -}}

{{- /* A host with one address at a time. */ -}}
{{- define "supersonic.envoy.dns" -}}
cluster_type:
  name: envoy.cluster.dns
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
    all_addresses_in_single_endpoint: true
    dns_lookup_family: V4_PREFERRED
{{- end -}}
