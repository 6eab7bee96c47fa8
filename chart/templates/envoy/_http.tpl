{{- /* The listener that clients call. Takes the root context. */ -}}
{{- define "supersonic.envoy.clientListener" -}}
{{- $envoy := .Values.envoy -}}
{{- $bucket := $envoy.rate_limiter.listener_level -}}
- name: listener_grpc
  stat_prefix: clients
  address: {{ include "supersonic.envoy.everywhere" (list . (include "supersonic.envoy.grpcTargetPort" .)) }}
  traffic_direction: INBOUND
  per_connection_buffer_limit_bytes: {{ int64 $envoy.bufferLimitBytes }}
  {{- include "supersonic.envoy.silenceTimeout" . | nindent 2 }}
  listener_filters:
  {{- if $bucket.enabled }}
  - name: envoy.filters.listener.local_ratelimit
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.listener.local_ratelimit.v3.LocalRateLimit
      stat_prefix: local_rate_limiter
      token_bucket:
        max_tokens: {{ int64 $bucket.max_tokens }}
        tokens_per_fill: {{ int64 $bucket.tokens_per_fill }}
        fill_interval: {{ $bucket.fill_interval }}
  {{- end }}
  {{- if $envoy.tls.enabled }}
  - name: envoy.filters.listener.tls_inspector
    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}
  {{- else }}
  {{- include "supersonic.envoy.httpInspector" . | nindent 2 }}
  {{- end }}
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        {{- include "supersonic.envoy.connectionManager" . | nindent 8 }}
    {{- if $envoy.tls.enabled }}
    transport_socket_connect_timeout: 10s
    transport_socket:
      {{- include "supersonic.envoy.serverTLS" . | nindent 6 }}
    {{- end }}
{{- end -}}

{{- /*
A connection is closed unless its first bytes are those of HTTP, or of TLS, within
this time. It waits in the listener, where the inspector reads them.
*/ -}}
{{- define "supersonic.envoy.silenceTimeout" -}}
listener_filters_timeout: 10s
{{- end -}}
{{- define "supersonic.envoy.httpInspector" -}}
- name: envoy.filters.listener.http_inspector
  typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.listener.http_inspector.v3.HttpInspector}
{{- end -}}

{{- /*
Calls are limited by inactivity, not by duration: an idle stream ends after
streamIdleTimeout, an idle connection after connectionIdleTimeout, and a connection
to a client that does not answer a ping 20 s after it.
*/ -}}
{{- define "supersonic.envoy.connectionManager" -}}
{{- $envoy := .Values.envoy -}}
"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
stat_prefix: ingress_grpc
codec_type: AUTO
generate_request_id: true
use_remote_address: true
# Envoy trusts x-envoy- headers from internal addresses, by default those of every cluster; no client has this address.
internal_address_config: {cidr_ranges: [{address_prefix: 255.255.255.255, prefix_len: 32}]}
normalize_path: true
# Clients do not decide which calls are traced; Envoy and Triton do, by their sampling rates.
early_header_mutation_extensions:
- name: envoy.http.early_header_mutation.header_mutation
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation
    mutations: [{remove: x-client-trace-id}, {remove: traceparent}, {remove: tracestate}]
stream_idle_timeout: {{ $envoy.streamIdleTimeout }}
request_headers_timeout: 10s
drain_timeout: {{ int64 $envoy.drain.timeSeconds }}s
max_request_headers_kb: {{ int64 $envoy.maxRequestHeadersKb }}
common_http_protocol_options:
  idle_timeout: {{ $envoy.connectionIdleTimeout }}
  max_headers_count: 100
  {{- with $envoy.maxConnectionDuration }}
  max_connection_duration: {{ . }}
  {{- end }}
http2_protocol_options:
  max_concurrent_streams: {{ int64 $envoy.http2.maxConcurrentStreams }}
  initial_stream_window_size: {{ int64 $envoy.http2.streamWindowBytes }}
  initial_connection_window_size: {{ int64 $envoy.http2.connectionWindowBytes }}
  connection_keepalive: {interval: 60s, timeout: 20s}
{{- with include "supersonic.envoy.tracing" . }}
tracing:
  {{- . | nindent 2 }}
{{- end }}
{{- if $envoy.accessLog.enabled }}
access_log:
- name: envoy.access_loggers.stdout
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog
    log_format:
      json_format: {{ toJson $envoy.accessLog.fields }}
{{- end }}
route_config:
  {{- include "supersonic.envoy.routes" . | nindent 2 }}
http_filters:
{{- with include "supersonic.envoy.authFilters" . | trim }}
{{ . }}
{{- end }}
{{- if include "supersonic.gate.enabled" . }}
{{ include "supersonic.gate.filter" (include "supersonic.gate.settings" . | fromJson) }}
{{- end }}
{{ include "supersonic.envoy.router" . }}
{{- end -}}

{{- define "supersonic.envoy.tracing" -}}
{{- if include "supersonic.envoy.traced" . -}}
random_sampling: {value: {{ mulf .Values.envoy.tracing_sampling_rate 100 | toJson }}}
provider:
  name: envoy.tracers.opentelemetry
  typed_config:
    "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
    grpc_service: {envoy_grpc: {cluster_name: opentelemetry_collector}, timeout: 0.250s}
    # service.name is the pod's name, from OTEL_RESOURCE_ATTRIBUTES.
    resource_detectors:
    - name: envoy.tracers.opentelemetry.resource_detectors.environment
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.tracers.opentelemetry.resource_detectors.v3.EnvironmentResourceDetectorConfig
{{- end -}}
{{- end -}}

{{- define "supersonic.envoy.traced" -}}
{{- if or .Values.envoy.tracing.host (dig "opentelemetry-collector" "enabled" false .Values.AsMap) }}true{{ end -}}
{{- end -}}
