{{- define "supersonic.network.faults" -}}
{{- $outside := or (eq (include "supersonic.prometheus.kind" .) "external") .Values.prometheus.podMonitors.enabled -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.scrapers) $outside }}
networkPolicy.scrapers: must list the pods of the external Prometheus, or they cannot scrape, got none
{{- end }}
{{- end -}}
