{{- define "supersonic.network.faults" -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.scrapers) (eq (include "supersonic.prometheus.kind" .) "external") }}
networkPolicy.scrapers: must list the pods of the external Prometheus, or they cannot scrape, got none
{{- end }}
{{- end -}}
