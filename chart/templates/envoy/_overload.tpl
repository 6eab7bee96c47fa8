{{- /*
Envoy refuses work before its container runs out of memory. The heap may fill nine
tenths of the container's limit; the rest is for the program, its threads and Lua.
From four fifths of the heap on, new calls get UNAVAILABLE ("envoy overloaded"), and
calls that are in progress continue. Only if these take more than nine tenths, the
calls whose buffers are largest are ended, such as those of clients that do not read
their answers. Takes the root context.
*/ -}}
{{- define "supersonic.envoy.overload" -}}
{{- $limit := include "supersonic.envoy.memoryLimit" . -}}
{{- if or $limit .Values.envoy.maxConnections -}}
overload_manager:
  refresh_interval: 0.01s
  resource_monitors:
  {{- with .Values.envoy.maxConnections }}
  # Above this limit new connections are closed at once; the stats and drain listeners are exempt.
  - name: envoy.resource_monitors.global_downstream_max_connections
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig
      max_active_downstream_connections: {{ int64 . }}
  {{- end }}
  {{- if $limit }}
  - name: envoy.resource_monitors.fixed_heap
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig
      max_heap_size_bytes: {{ mulf 0.9 $limit | int64 }}
  # Calls whose buffers hold at least 64 KiB can be ended.
  buffer_factory_config: {minimum_account_to_track_power_of_two: 16}
  actions:
  - name: envoy.overload_actions.shrink_heap
    triggers: [{name: envoy.resource_monitors.fixed_heap, threshold: {value: 0.75}}]
  - name: envoy.overload_actions.stop_accepting_requests
    triggers: [{name: envoy.resource_monitors.fixed_heap, threshold: {value: 0.8}}]
  - name: envoy.overload_actions.stop_accepting_connections
    triggers: [{name: envoy.resource_monitors.fixed_heap, threshold: {value: 0.9}}]
  - name: envoy.overload_actions.reset_high_memory_stream
    triggers: [{name: envoy.resource_monitors.fixed_heap, scaled: {scaling_threshold: 0.9, saturation_threshold: 0.98}}]
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Bytes; empty without a limit. Takes the root context. */ -}}
{{- define "supersonic.envoy.memoryLimit" -}}
{{- with dig "limits" "memory" "" (.Values.envoy.resources | default dict) }}{{ include "supersonic.pods.amount" . }}{{ end -}}
{{- end -}}

{{- /*
Held calls have to fit: each keeps up to a window of its request, and together they
may fill two fifths of the container's limit, so that new calls are still accepted.
*/ -}}
{{- define "supersonic.envoy.overloadErrors" -}}
{{- $envoy := .Values.envoy -}}
{{- $limit := include "supersonic.envoy.memoryLimit" . -}}
{{- if and $limit $envoy.hold.enabled (not (include "supersonic.envoy.external" . | eq "true")) }}
{{- $window := int64 $envoy.http2.streamWindowBytes }}
{{- $most := divf (mulf 0.4 $limit) $window | floor | int64 }}
{{- if gt (int64 $envoy.hold.maxCalls) $most }}
envoy.hold.maxCalls: must be at most {{ $most }}, because each held call keeps up to envoy.http2.streamWindowBytes ({{ $window }}) of its request, and all of them together may take two fifths of envoy.resources.limits.memory ({{ $envoy.resources.limits.memory }}), got {{ int64 $envoy.hold.maxCalls }}
{{- end }}
{{- end }}
{{- end -}}
