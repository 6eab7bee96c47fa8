{{- define "supersonic.envoy.router" -}}
- name: envoy.filters.http.router
  typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
{{- end -}}

{{- /* The chart's own listeners, also used with a custom configuration. Takes the root context. */ -}}
{{- define "supersonic.envoy.ownListeners" -}}
{{ include "supersonic.envoy.statsListener" . }}
{{- if eq .Values.envoy.drain.method "hook" }}
{{ include "supersonic.envoy.drainListeners" . }}
{{- end }}
{{- if include "supersonic.gate.enabled" . }}
{{ include "supersonic.gate.listeners" (include "supersonic.gate.settings" . | fromJson) }}
{{- end }}
{{- end -}}

{{- /*
The only two paths of the admin interface that are reachable from outside the pod.
This listener is not drained (MODIFY_ONLY) and not part of the connection limit, so
that Envoy stays visible while it drains or is full. /ready is 200 while Envoy runs,
also while it drains, when the admin interface's own /ready is 503.
*/ -}}
{{- define "supersonic.envoy.statsListener" -}}
- name: stats
  address: {{ include "supersonic.envoy.everywhere" (list . (include "supersonic.envoy.statsPort" .)) }}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  ignore_global_conn_limit: true
  {{- include "supersonic.envoy.silenceTimeout" . | nindent 2 }}
  listener_filters:
  {{- include "supersonic.envoy.httpInspector" . | nindent 2 }}
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: stats
        codec_type: AUTO
        common_http_protocol_options: {idle_timeout: 60s}
        request_headers_timeout: 5s
        route_config:
          name: stats
          virtual_hosts:
          - name: stats
            domains: ["*"]
            routes:
            - match: {path: /stats/prometheus, headers: [{name: ":method", string_match: {exact: GET}}]}
              route: {cluster: supersonic_admin}
            - match: {path: /ready, headers: [{name: ":method", string_match: {exact: GET}}]}
              route: {cluster: supersonic_admin, prefix_rewrite: '/stats?filter=^server\.live$'}
        http_filters:
        {{- include "supersonic.envoy.router" . | nindent 8 }}
{{- end -}}

{{- /*
The preStop hook of a stopping pod, called before SIGTERM, which would cut running
calls: clients are asked to reconnect elsewhere, and the answer is sent when no call
is left. Kubernetes can only send GET but the admin interface needs POST, so a
script translates. The port is in no Service, and the request carries a header, but
any pod may know both, so the effect of a GET ends with it.
*/ -}}
{{- define "supersonic.envoy.drainListeners" -}}
- name: drain
  address: {{ include "supersonic.envoy.everywhere" (list . (int64 .Values.envoy.drain.port)) }}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  ignore_global_conn_limit: true
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: drain
        codec_type: HTTP1
        stream_idle_timeout: 0s
        common_http_protocol_options: {idle_timeout: 10s}
        request_headers_timeout: 5s
        route_config:
          name: drain
          virtual_hosts:
          - name: drain
            domains: ["*"]
            routes:
            - match:
                path: /drain
                headers:
                - {name: ":method", string_match: {exact: GET}}
                - {name: x-supersonic-drain, string_match: {exact: stop}}
              direct_response: {status: 200}
              typed_per_filter_config:
                envoy.filters.http.lua: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, config: {}}
        http_filters:
        - name: envoy.filters.http.lua
          disabled: true
          typed_config:
            {{- include "supersonic.envoy.drainScript" . | nindent 12 }}
        {{- include "supersonic.envoy.router" . | nindent 8 }}
- name: drain_work
  internal_listener: {}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: drain_work
        codec_type: HTTP2
        route_config:
          name: drain_work
          virtual_hosts:
          - name: drain_work
            domains: ["*"]
            routes:
            - match: {path: /leave}
              direct_response: {status: 404}
        http_filters:
        - name: envoy.filters.http.lua
          typed_config:
            {{- include "supersonic.envoy.drainScript" . | nindent 12 }}
        {{- include "supersonic.envoy.router" . | nindent 8 }}
- name: drain_clock
  internal_listener: {}
  traffic_direction: OUTBOUND
  drain_type: MODIFY_ONLY
  bypass_overload_manager: true
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: drain_clock
        codec_type: HTTP2
        route_config:
          name: drain_clock
          virtual_hosts:
          - name: drain_clock
            domains: ["*"]
            routes:
            - match: {prefix: /}
              direct_response: {status: 200}
        http_filters:
        - name: envoy.filters.http.fault
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
            delay: {header_delay: {}, percentage: {numerator: 100}}
        {{- include "supersonic.envoy.router" . | nindent 8 }}
{{- end -}}

{{- /* The script of the hook, for the GET and for what goes on without it. Takes the root context. */ -}}
{{- define "supersonic.envoy.drainScript" -}}
"@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
stat_prefix: drain
default_source_code:
  inline_string: |
    local config = {
      least_ms = {{ mul 1000 (int64 .Values.envoy.drain.timeSeconds) }},
      most_ms = {{ mul 1000 (int64 .Values.envoy.drain.seconds) }},
      hold = {{ .Values.envoy.hold.enabled }},
    }
    {{- .Files.Get "files/envoy-drain.lua" | nindent 4 }}
{{- end -}}
