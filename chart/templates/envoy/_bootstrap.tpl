{{- /* The complete envoy.yaml. Takes the root context. */ -}}
{{- define "supersonic.envoy.bootstrap" -}}
{{ include "supersonic.envoy.ownBootstrap" . }}
stats_flush_interval: 1s
{{ include "supersonic.envoy.overload" . }}
static_resources:
  listeners:
  {{- include "supersonic.envoy.clientListener" . | nindent 2 }}
  {{- include "supersonic.envoy.ownListeners" . | nindent 2 }}
  clusters:
  {{- include "supersonic.envoy.clientClusters" . | nindent 2 }}
  {{- include "supersonic.envoy.ownClusters" . | nindent 2 }}
{{- end -}}

{{- /*
What is merged into a custom configuration: fields replace the user's, lists are
appended to the user's. Takes the root context.
*/ -}}
{{- define "supersonic.envoy.merged" -}}
{{ include "supersonic.envoy.ownBootstrap" . }}
static_resources:
  listeners:
  {{- include "supersonic.envoy.ownListeners" . | nindent 2 }}
  clusters:
  {{- include "supersonic.envoy.ownClusters" . | nindent 2 }}
{{- end -}}

{{- define "supersonic.envoy.ownBootstrap" -}}
admin:
  address: {socket_address: {address: 127.0.0.1, port_value: {{ include "supersonic.envoy.adminPort" . }}}}
bootstrap_extensions:
- name: envoy.bootstrap.internal_listener
  typed_config: {"@type": type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener}
{{- if include "supersonic.gate.enabled" . }}
stats_config:
  stats_tags:
  {{- range list "outcome" "answer" }}
  - {tag_name: {{ . }}, regex: '\.lua\.gate\.{{ . }}(\.(\w+))$'}
  {{- end }}
{{- end }}
{{- end -}}
