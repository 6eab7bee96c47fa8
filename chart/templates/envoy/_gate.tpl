{{- /*
The admission gate and the hold inside Envoy: files/envoy-filter.lua, preceded by its
config table and its other parts, and the listeners and clusters that it uses.

"settings" reads the values; every other define takes its result, after fromJson,
and needs nothing else:
  parts        files/envoy-filter*.lua, by name
  limiter      envoy.rate_limiter.prometheus_based
  hold         envoy.hold
  share        maximum number of held calls of one connection
  query        PromQL, one series
  threshold    load above which calls are refused
  prometheus   the result of supersonic.prometheus.address
  cluster      the Triton cluster, whose probes wake the fleet
  statPrefix   stat_prefix of the connection manager that clients reach
  directory    where "files" is mounted
*/ -}}
{{- define "supersonic.gate.settings" -}}
{{- $parts := dict -}}
{{- range list "filter" "filter-json" "filter-stats" "filter-prometheus" "filter-gate" "filter-hold" -}}
{{- $_ := set $parts . ($.Files.Get (printf "files/envoy-%s.lua" .)) -}}
{{- end -}}
{{- $gate := dict
  "parts" $parts
  "limiter" .Values.envoy.rate_limiter.prometheus_based
  "hold" .Values.envoy.hold
  "share" (include "supersonic.gate.share" .Values.envoy | int64)
  "cluster" "triton_grpc_service"
  "statPrefix" "ingress_grpc"
  "directory" "/etc/envoy/gate" -}}
{{- if .Values.envoy.rate_limiter.prometheus_based.enabled -}}
{{- $_ := set $gate "query" (include "supersonic.prometheus.gateQuery" .) -}}
{{- $_ := set $gate "threshold" (include "supersonic.scaling.admissionThreshold" . | float64) -}}
{{- $_ := set $gate "prometheus" (include "supersonic.prometheus.address" . | fromJson) -}}
{{- end -}}
{{- toJson $gate -}}
{{- end -}}

{{- /* An Ingress can carry all clients over one connection. Takes the section envoy. */ -}}
{{- define "supersonic.gate.share" -}}
{{- $most := int64 .hold.maxCalls -}}
{{- if not (kindIs "invalid" .hold.maxCallsPerConnection) -}}
{{- int64 .hold.maxCallsPerConnection -}}
{{- else -}}
{{- ternary $most (divf $most 4 | ceil | int64) .ingress.enabled -}}
{{- end -}}
{{- end -}}

{{- /* "true" if the gate or the hold is enabled; takes the root context. */ -}}
{{- define "supersonic.gate.enabled" -}}
{{- if or .Values.envoy.rate_limiter.prometheus_based.enabled .Values.envoy.hold.enabled }}true{{ end -}}
{{- end -}}

{{- define "supersonic.gate.errors" -}}
{{- $limiter := .Values.envoy.rate_limiter.prometheus_based -}}
{{- if not (has $limiter.luaConfig (list "" "cfg/envoy-filter.lua")) }}
envoy.rate_limiter.prometheus_based.luaConfig: must be empty, because the filter is part of the chart, got {{ quote $limiter.luaConfig }}
{{- end }}
{{- $image := .Values.envoy.image }}
{{- /* What an image with another name, or a tag without a version, contains shows at run time: SupersonicGateNotRunning. */}}
{{- $version := regexFind "(^|/)envoy(-[a-z]+)*:([a-z]+-)*v?[0-9]+\\.[0-9]+" $image | regexFind "[0-9]+\\.[0-9]+$" }}
{{- if and $version .Values.envoy.enabled (include "supersonic.gate.enabled" .) (semverCompare "<1.40" (printf "%s.0" $version)) }}
envoy.image: must be Envoy 1.40 or later with the gate or the hold, whose filter calls what older versions do not have, got {{ quote $image }}
{{- end }}
{{- end -}}

{{- /*
A Lua string literal for any text: a long bracket with more equals signs than the
text has in a row. Lua would turn "\r" inside one into "\n". Characters that YAML
cannot represent stop the render, because toYaml would print nothing at all.
*/ -}}
{{- define "supersonic.gate.literal" -}}
{{- $plain := `\t\n\r\x20-\x7e\x{a0}-\x{2027}\x{202a}-\x{d7ff}\x{e000}-\x{fefe}\x{ff00}-\x{fffd}\x{10000}-\x{10ffff}` -}}
{{- if regexMatch (printf "[^%s]" $plain) . -}}
{{- fail (printf "must not contain control characters: %q" .) -}}
{{- end -}}
{{- $equals := "=" -}}
{{- range regexFindAll "=+" . -1 -}}
{{- if ge (len .) (len $equals) }}{{ $equals = printf "%s=" . }}{{ end -}}
{{- end -}}
{{- $open := printf "[%s[\n" $equals -}}
{{- $close := printf "]%s]" $equals -}}
{{- printf "%s%s%s" $open (splitList "\r" . | join (printf "%s .. \"\\13\" .. %s" $close $open)) $close -}}
{{- end -}}

{{- define "supersonic.gate.milliseconds" -}}
{{- round (mulf . 1000) 0 | int64 -}}
{{- end -}}

{{- /* The filter's config table; the filter explains its fields. */ -}}
{{- define "supersonic.gate.config" -}}
local config = {
  methods = {
{{- range .limiter.methods }}
    {{ include "supersonic.gate.literal" . }},
{{- end }}
  },
  status = {{ .limiter.statusCode | int64 }},
  unknown = {{ include "supersonic.gate.literal" .limiter.unknownLoad }},
  probe_cluster = "gate_probe",
  wait_cluster = "gate_wait",
  spare_cluster = "gate_wait_spare",
{{- if .limiter.enabled }}
  load = {
    threshold = {{ .threshold | float64 }},
    ramp = {{ .limiter.ramp | float64 }},
    cache_ms = {{ include "supersonic.gate.milliseconds" .limiter.cacheSeconds }},
    timeout_ms = {{ include "supersonic.gate.milliseconds" .limiter.timeoutSeconds }},
    last_known_ms = {{ include "supersonic.gate.milliseconds" .limiter.lastKnownSeconds }},
    max_answer_bytes = {{ .limiter.maxAnswerBytes | int64 }},
    cluster = "prometheus_cluster",
    authority = {{ include "supersonic.gate.literal" (include "supersonic.gate.authority" .prometheus) }},
    {{- $path := printf "%s/api/v1/query" (.prometheus.path | trimSuffix "/") }}
    path = {{ list $path (get .prometheus "queryString") | compact | join "?" | include "supersonic.gate.literal" }},
    query = {{ include "supersonic.gate.literal" .query }},
    headers = {
{{- range $name, $value := .prometheus.headers }}
      { {{ include "supersonic.gate.literal" (lower $name) }}, {{ include "supersonic.gate.literal" (toString $value) }} },
{{- end }}
    },
{{- with .prometheus.auth }}
{{- if eq .type "bearer" }}
    bearer_file = {{ include "supersonic.gate.literal" .bearerFile }},
{{- else if eq .type "basic" }}
    username_file = {{ include "supersonic.gate.literal" .usernameFile }},
    password_file = {{ include "supersonic.gate.literal" .passwordFile }},
{{- end }}
{{- end }}
  },
{{- end }}
{{- if .hold.enabled }}
  hold = {
    cluster = {{ include "supersonic.gate.literal" .cluster }},
    poll_ms = {{ include "supersonic.gate.milliseconds" .hold.pollSeconds }},
    max_ms = {{ include "supersonic.gate.milliseconds" .hold.maxSeconds }},
    share = {{ int64 .share }},
  },
{{- end }}
}
{{- end -}}

{{- /* The filter: each of its files is a chunk with locals of its own. */ -}}
{{- define "supersonic.gate.script" -}}
{{ include "supersonic.gate.config" . }}
{{- range list "json" "stats" "prometheus" "gate" "hold" }}
{{ include "supersonic.gate.module" (dict "name" . "text" (index $.parts (printf "filter-%s" .))) }}
{{- end }}
{{ index .parts "filter" }}
{{- end -}}

{{- define "supersonic.gate.module" -}}
local {{ .name }} = (function()
{{ .text -}}
end)()
{{- end -}}

{{- /* host:port, without the port if it is the scheme's default. */ -}}
{{- define "supersonic.gate.authority" -}}
{{- $host := .host -}}
{{- if contains ":" $host }}{{ $host = printf "[%s]" $host }}{{ end -}}
{{- $usual := ternary 443 80 (eq .scheme "https") -}}
{{- if eq (int64 .port) (int64 $usual) }}{{ $host }}{{ else }}{{ printf "%s:%d" $host (int64 .port) }}{{ end -}}
{{- end -}}

{{- /*
The files to mount in the directory, as a map from name to content. Envoy reloads
them when the mounted ConfigMap changes, without a restart.
*/ -}}
{{- define "supersonic.gate.files" -}}
{{- $lua := dict
  "@type" "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua"
  "stat_prefix" "gate"
  "default_source_code" (dict "inline_string" (include "supersonic.gate.script" .)) -}}
{{- $filter := dict
  "@type" "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"
  "name" "gate"
  "typed_config" $lua -}}
{{- $files := dict "gate.yaml" (dict "resources" (list $filter) | toYaml) -}}
{{- if .limiter.enabled -}}
{{- if and (eq .prometheus.scheme "https") (not .prometheus.insecureSkipVerify) -}}
{{- $authorities := .prometheus.caFile | default "/etc/ssl/certs/ca-certificates.crt" -}}
{{- $secret := dict
  "@type" "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
  "name" "prometheus_ca"
  "validation_context" (dict
    "trusted_ca" (dict "filename" $authorities "watched_directory" (dict "path" (dir $authorities)))) -}}
{{- $_ := set $files "prometheus-ca.yaml" (dict "resources" (list $secret) | toYaml) -}}
{{- end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{- /* The HTTP filter, which must come after authentication. */ -}}
{{- define "supersonic.gate.filter" -}}
- name: gate
  config_discovery:
    config_source:
      resource_api_version: V3
      path_config_source:
        path: {{ .directory }}/gate.yaml
        watched_directory: {path: {{ .directory }}}
    type_urls: [type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua]
{{- end -}}

{{- /*
The gate's clock: Envoy checks the health of this listener, whose filter then asks
Prometheus. The checker runs outside of the workers and can't reach an internal
listener. An abstract socket needs neither a port nor a file, and stays in the pod.
*/ -}}
{{- define "supersonic.gate.clockListener" -}}
- name: gate_clock
  address: {pipe: {path: "@supersonic_gate_clock"}}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  ignore_global_conn_limit: true
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        {{- include "supersonic.gate.workManager" (dict "name" "gate_clock" "paths" (list "/load") "gate" .) | nindent 8 }}
        http_filters:
        # Never reloaded: it keeps the counters and gauges while the gate is.
        - name: gate_stats
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
            stat_prefix: gate
            default_source_code:
              inline_string: |
                {{- include "supersonic.gate.module" (dict "name" "stats" "text" (index .parts "filter-stats")) | nindent 16 }}
                function envoy_on_request(handle)
                  stats.touch(handle)
                end
        {{- include "supersonic.gate.filter" . | nindent 8 }}
        - name: envoy.filters.http.router
          typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
{{- end -}}

{{- /* A connection manager for the gate's own work. */ -}}
{{- define "supersonic.gate.workManager" -}}
"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
# The filter's gauges are shared only under the same prefix.
stat_prefix: {{ .gate.statPrefix }}
codec_type: AUTO
generate_request_id: false
route_config:
  name: {{ .name }}
  virtual_hosts:
  - name: {{ .name }}
    domains: ["*"]
    routes:
    {{- range .paths }}
    - match: {path: {{ . }}}
      metadata: {filter_metadata: {gate: {internal: true}}}
      direct_response: {status: 404}
    {{- end }}
{{- end -}}

{{- /* Requires bootstrap_extensions envoy.bootstrap.internal_listener. */ -}}
{{- define "supersonic.gate.listeners" -}}
{{- if .limiter.enabled }}
{{ include "supersonic.gate.clockListener" . }}
{{- end }}
{{- if .hold.enabled }}
{{ include "supersonic.gate.holdListeners" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.gate.holdListeners" -}}
- name: gate_probe
  internal_listener: {}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        {{- include "supersonic.gate.workManager" (dict "name" "gate_probe" "paths" (list "/probe" "/stop") "gate" .) | nindent 8 }}
        http_filters:
        {{- include "supersonic.gate.filter" . | nindent 8 }}
        - name: envoy.filters.http.router
          typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
- name: gate_wait
  internal_listener: {}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: gate_wait
        codec_type: HTTP2
        generate_request_id: false
        route_config:
          name: gate_wait
          virtual_hosts:
          - name: gate_wait
            domains: ["*"]
            routes:
            - match: {prefix: /}
              direct_response: {status: 200}
        http_filters:
        - name: envoy.filters.http.fault
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
            delay: {header_delay: {}, percentage: {numerator: 100}}
        - name: envoy.filters.http.router
          typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
{{- end -}}

{{- define "supersonic.gate.internalCluster" -}}
- name: {{ .name }}
  connect_timeout: 1s
  circuit_breakers:
    thresholds:
    - {max_requests: {{ int64 .limit }}, max_pending_requests: {{ int64 .limit }}, max_connections: 1024, track_remaining: true}
  typed_extension_protocol_options:
    envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
      "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
      explicit_http_config: {http2_protocol_options: {}}
  load_assignment:
    cluster_name: {{ .name }}
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {envoy_internal_address: {server_listener_name: {{ .listener }}}}}
{{- end -}}

{{- define "supersonic.gate.clusters" -}}
{{- if .hold.enabled }}
{{ include "supersonic.gate.internalCluster" (dict "name" "gate_probe" "listener" "gate_probe" "limit" 64) }}
{{ include "supersonic.gate.internalCluster" (dict "name" "gate_wait" "listener" "gate_wait" "limit" .hold.maxCalls) }}
{{ include "supersonic.gate.internalCluster" (dict "name" "gate_wait_spare" "listener" "gate_wait" "limit" .hold.maxCalls) }}
{{- end }}
{{- if .limiter.enabled }}
{{- $interval := printf "%.3fs" (divf .limiter.cacheSeconds (ceil .limiter.cacheSeconds)) }}
- name: gate_clock
  connect_timeout: 1s
  wait_for_warm_on_init: false # the listener opens later
  health_checks:
  - timeout: 3600s # a query has its own, which changes without a restart
    # At most 1 s, and a fraction of cacheSeconds; sooner until the filter is there.
    interval: {{ $interval }}
    no_traffic_healthy_interval: {{ $interval }}
    no_traffic_interval: 0.1s
    unhealthy_interval: 0.1s
    healthy_threshold: 1
    unhealthy_threshold: 1
    reuse_connection: false # so that it is no client's connection in Envoy's gauges
    http_health_check: {host: gate, path: /load}
  load_assignment:
    cluster_name: gate_clock
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {pipe: {path: "@supersonic_gate_clock"}}}
- name: prometheus_cluster
  connect_timeout: 5s # a query has its own, which changes without a restart
  circuit_breakers:
    thresholds:
    - {max_connections: 4, max_pending_requests: 4, max_requests: 4, max_retries: 0}
  cluster_type:
    name: envoy.cluster.dns
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
      all_addresses_in_single_endpoint: true
      dns_lookup_family: V4_PREFERRED
  typed_extension_protocol_options:
    envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
      "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
      common_http_protocol_options: {idle_timeout: 60s}
      explicit_http_config: {http_protocol_options: {}}
  {{- if eq .prometheus.scheme "https" }}
  {{- include "supersonic.gate.tls" . | nindent 2 }}
  {{- end }}
  load_assignment:
    cluster_name: prometheus_cluster
    endpoints:
    - lb_endpoints:
      - endpoint:
          address: {socket_address: {address: {{ .prometheus.host | toJson }}, port_value: {{ int64 .prometheus.port }}}}
{{- end }}
{{- end -}}

{{- /* The host name is matched too, so that a certificate of the same CA for another host is rejected. */ -}}
{{- define "supersonic.gate.tls" -}}
{{- $name := .prometheus.serverName | default .prometheus.host -}}
{{- $isAddress := or (contains ":" $name) (regexMatch "^[0-9.]+$" $name) -}}
transport_socket:
  name: envoy.transport_sockets.tls
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
    {{- if not $isAddress }}
    sni: {{ toJson $name }}
    {{- end }}
    {{- if .prometheus.insecureSkipVerify }}
    common_tls_context: {validation_context: {trust_chain_verification: ACCEPT_UNTRUSTED}}
    {{- else }}
    common_tls_context:
      combined_validation_context:
        default_validation_context:
          match_typed_subject_alt_names:
          - san_type: {{ ternary "IP_ADDRESS" "DNS" $isAddress }}
            matcher: {exact: {{ toJson $name }}}
        validation_context_sds_secret_config:
          name: prometheus_ca
          sds_config:
            resource_api_version: V3
            path_config_source:
              path: {{ .directory }}/prometheus-ca.yaml
              watched_directory: {path: {{ .directory }}}
    {{- end }}
{{- end -}}
