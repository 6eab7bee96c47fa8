{{- /*
Which calls reach Triton. Those that count as load and wake the fleet use the cluster
triton_grpc_service. The health methods and envoy.paths.other use a cluster of their
own, because the metrics read only the first. Envoy answers everything else itself,
so that a probe or a scan does not keep GPUs on.
*/ -}}

{{- /* Health methods; they do not count as load and need no token. */ -}}
{{- define "supersonic.envoy.healthMethods" -}}
{{- list
  "/grpc.health.v1.Health/Check"
  "/inference.GRPCInferenceService/ServerLive"
  "/inference.GRPCInferenceService/ServerReady" | toJson -}}
{{- end -}}

{{- define "supersonic.envoy.inferenceService" -}}/inference.GRPCInferenceService/{{- end -}}

{{- /* Methods that change the server for all clients. Methods that only read, such as SystemSharedMemoryStatus, are not among them. */ -}}
{{- define "supersonic.envoy.controlMethods" -}}
{{- $methods := list -}}
{{- range list
  "RepositoryModelLoad" "RepositoryModelUnload" "TraceSetting" "LogSettings"
  "SystemSharedMemoryRegister" "SystemSharedMemoryUnregister" "CudaSharedMemoryRegister" "CudaSharedMemoryUnregister" -}}
{{- $methods = append $methods (printf "%s%s" (include "supersonic.envoy.inferenceService" $) .) -}}
{{- end -}}
{{- toJson $methods -}}
{{- end -}}

{{- /*
A call is retried only if the replica has not started it: the connection failed, or
the stream was refused.
*/ -}}
{{- define "supersonic.envoy.retryPolicy" -}}
retry_on: connect-failure,refused-stream,reset-before-request
num_retries: 3
retry_back_off: {base_interval: 0.025s, max_interval: 0.250s}
host_selection_retry_max_attempts: 5
retry_host_predicate:
- name: envoy.retry_host_predicates.previous_hosts
  typed_config: {"@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate}
{{- end -}}

{{- define "supersonic.envoy.routes" -}}
name: local_route_grpc
# Tokens are for Envoy only.
request_headers_to_remove: [authorization]
virtual_hosts:
- name: backend_grpc
  domains: ["*"]
  retry_policy:
    {{- include "supersonic.envoy.retryPolicy" . | nindent 4 }}
  routes:
  {{- range include "supersonic.envoy.healthMethods" . | fromJsonArray }}
  - match: {path: {{ . }}, grpc: {}}
    route: {cluster: triton_grpc_health, timeout: 15s}
  {{- end }}
  {{- range .Values.envoy.paths.other }}
  - match: {{ include "supersonic.envoy.pathMatch" . }}
    route: {cluster: triton_grpc_health, timeout: {{ $.Values.envoy.grpc_route_timeout }}}
  {{- end }}
  {{- range .Values.envoy.paths.work }}
  - match: {{ include "supersonic.envoy.pathMatch" . }}
    route:
      {{- include "supersonic.envoy.work" $ | nindent 6 }}
  {{- end }}
  {{- range include "supersonic.envoy.controlMethods" . | fromJsonArray }}
  - match: {path: {{ . }}, grpc: {}}
    {{- include "supersonic.envoy.answer" (list $ 403 "a control method that envoy.paths does not allow") | nindent 4 }}
  {{- end }}
  # Only a plain method name: a path with anything else in it is not a method of Triton.
  {{- $service := include "supersonic.envoy.inferenceService" . | replace "." "\\." }}
  - match: {safe_regex: {regex: {{ printf "%s[A-Za-z0-9_]+" $service | toJson }}}, grpc: {}}
    route:
      {{- include "supersonic.envoy.work" . | nindent 6 }}
  - match: {prefix: /}
    {{- include "supersonic.envoy.answer" (list . 404 "not a gRPC method of Triton's inference service") | nindent 4 }}
{{- end -}}

{{- define "supersonic.envoy.work" -}}
{{- $hash := .Values.envoy.hashPolicy -}}
cluster: triton_grpc_service
timeout: {{ .Values.envoy.grpc_route_timeout }}
{{- if or $hash.header $hash.sourceIp }}
hash_policy:
{{- with $hash.header }}
- {header: {header_name: {{ toJson . }}}, terminal: true}
{{- end }}
{{- if $hash.sourceIp }}
- {connection_properties: {source_ip: true}}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a path of envoy.paths; one that ends in / stands for all below it. */ -}}
{{- define "supersonic.envoy.pathMatch" -}}
{{ dict (hasSuffix "/" . | ternary "prefix" "path") . "grpc" dict | toJson }}
{{- end -}}

{{- /*
An answer of Envoy's own: 403 is PERMISSION_DENIED and 404 is UNIMPLEMENTED in gRPC.
The gate is disabled on these routes, because it runs before the route is taken. Takes
a list: the root context, the HTTP status, the message.
*/ -}}
{{- define "supersonic.envoy.answer" -}}
direct_response: {status: {{ index . 1 }}, body: {inline_string: {{ index . 2 | toJson }}}}
{{- if include "supersonic.gate.enabled" (first .) }}
typed_per_filter_config:
  gate: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true}
{{- end }}
{{- end -}}
