{{- /* For NOTES: the gate's filter, which the user has to add to a custom configuration. */ -}}
{{- define "supersonic.envoy.notes" -}}
{{- if and .Values.envoy.enabled (include "supersonic.envoy.external" .) (include "supersonic.gate.enabled" .) }}
{{- $gate := include "supersonic.gate.settings" . | fromJson -}}
The gate needs these lines in ConfigMap {{ .Values.envoy.external_config.configmap_name }}: among the http_filters, after
authentication, of a connection manager with stat_prefix {{ $gate.statPrefix }} that routes to a cluster {{ $gate.cluster }}:

{{ include "supersonic.gate.filter" $gate | indent 2 }}
{{- end }}
{{- end -}}
