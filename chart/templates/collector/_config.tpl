{{- /*
The metrics collector is an Envoy that serves two paths: /health, and /metrics,
which is Prometheus' federation endpoint for this release's series.
*/ -}}
{{- define "supersonic.collector.config" -}}
{{- $collector := .Values.metricsCollector -}}
{{- $address := include "supersonic.prometheus.address" . | fromJson -}}
admin:
  address: {socket_address: {address: 127.0.0.1, port_value: 9900}}
node: {id: metrics-collector, cluster: supersonic}
overload_manager:
  resource_monitors:
  - name: envoy.resource_monitors.global_downstream_max_connections
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig
      max_active_downstream_connections: 1000
static_resources:
  listeners:
  - name: metrics
    {{- /* 0.0.0.0 was the default of 0.3.1, which values that copy it contain. */}}
    {{- if not (has $collector.host (list "" "0.0.0.0")) }}
    address: {socket_address: {address: {{ quote $collector.host }}, port_value: {{ int64 $collector.port }}}}
    {{- else }}
    address: {{ include "supersonic.envoy.everywhere" (list . (int64 $collector.port)) }}
    {{- end }}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: metrics
          request_timeout: 10s
          stream_idle_timeout: 60s
          common_http_protocol_options: {idle_timeout: 300s, headers_with_underscores_action: REJECT_REQUEST}
          use_remote_address: true
          route_config:
            virtual_hosts:
            - name: metrics
              domains: ["*"]
              routes:
              - match: {path: /health}
                direct_response: {status: 200, body: {inline_string: "OK\n"}}
              - match: {path: /metrics, headers: [{name: ":method", string_match: {exact: GET}}]}
                route:
                  cluster: prometheus
                  timeout: 30s
                  host_rewrite_literal: {{ include "supersonic.collector.authority" $address | quote }}
          http_filters:
          - name: envoy.filters.http.lua
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
              # The route is chosen by the path that the caller requested.
              clear_route_cache: false
              default_source_code:
                inline_string: |
                  {{- include "supersonic.collector.lua" . | nindent 18 }}
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: prometheus
    connect_timeout: 5s
    {{- include "supersonic.envoy.dns" . | nindent 4 }}
    load_assignment:
      cluster_name: prometheus
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: {{ quote $address.host }}, port_value: {{ int64 $address.port }}}}}
    {{- if eq $address.scheme "https" }}
    {{- include "supersonic.collector.tls" $address | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "supersonic.collector.authority" -}}
{{- $host := ternary (printf "[%s]" .host) .host (contains ":" .host) -}}
{{- if eq (int .port) (ternary 443 80 (eq .scheme "https")) }}{{ $host }}{{ else }}{{ printf "%s:%d" $host (int .port) }}{{ end -}}
{{- end -}}

{{- /* Takes the address of Prometheus. */ -}}
{{- define "supersonic.collector.tls" -}}
{{- $isAddress := or (contains ":" .serverName) (regexMatch "^[0-9.]+$" .serverName) -}}
transport_socket:
  name: envoy.transport_sockets.tls
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
    {{- if not $isAddress }}
    sni: {{ quote .serverName }}
    {{- end }}
    common_tls_context:
      validation_context:
        {{- if .insecureSkipVerify }}
        trust_chain_verification: ACCEPT_UNTRUSTED
        {{- else }}
        trusted_ca: {filename: {{ .caFile | default "/etc/ssl/certs/ca-certificates.crt" }}}
        match_typed_subject_alt_names:
        - {san_type: {{ ternary "IP_ADDRESS" "DNS" $isAddress }}, matcher: {exact: {{ quote .serverName }}}}
        {{- end }}
{{- end -}}

{{- /* Requests this release's series only, whatever the caller requests; credentials are read each time. */ -}}
{{- define "supersonic.collector.lua" -}}
{{- $address := include "supersonic.prometheus.address" . | fromJson -}}
{{- $matchers := include "supersonic.scaling.matchers" (list . "triton") -}}
{{- $selector := printf "{__name__=~%s,%s}" (quote .Values.metricsCollector.metricNames) $matchers -}}
{{- $path := printf "%s/federate?match[]=%s" $address.path (urlquery $selector) -}}
local path = {{ list $path $address.queryString | compact | join "&" | include "supersonic.gate.literal" }}
local headers = {
{{- range $name, $value := $address.headers }}
  { {{- include "supersonic.gate.literal" $name }}, {{ include "supersonic.gate.literal" (toString $value) -}} },
{{- end }}
}
{{- if ne $address.auth.type "none" }}

local function content(name)
  local file = assert(io.open(name))
  local text = file:read("*a")
  file:close()
  return (text:gsub("%s+$", ""))
end
{{- end }}

function envoy_on_request(handle)
  local request = handle:headers()
  if request:get(":path"):match("^[^?]*") ~= "/metrics" then
    return
  end
  request:replace(":path", path)
  request:remove("accept-encoding")
  request:remove("authorization")
  request:remove("cookie")
  for _, header in ipairs(headers) do
    request:replace(header[1], header[2])
  end
  {{- if eq $address.auth.type "bearer" }}
  request:replace("authorization", "Bearer " .. content({{ include "supersonic.gate.literal" $address.auth.bearerFile }}))
  {{- else if eq $address.auth.type "basic" }}
  local user = content({{ include "supersonic.gate.literal" $address.auth.usernameFile }})
  local password = content({{ include "supersonic.gate.literal" $address.auth.passwordFile }})
  request:replace("authorization", "Basic " .. handle:base64Escape(user .. ":" .. password))
  {{- end }}
end
{{- end -}}
