{{- define "supersonic.network.faults" -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.scrapers) (eq (include "supersonic.prometheus.kind" .) "external") }}
networkPolicy.scrapers: must name the pods of the external Prometheus, which nobody else lets in, got none
{{- end }}
{{- end -}}
