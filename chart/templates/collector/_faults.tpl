{{- define "supersonic.collector.faults" -}}
{{- $collector := .Values.metricsCollector -}}
{{- if $collector.ingress.enabled }}
{{- if not $collector.enabled }}
metricsCollector.ingress.enabled: needs metricsCollector.enabled
{{- else if not $collector.ingress.hostName }}
metricsCollector.ingress.hostName: must name a host, got none
{{- end }}
{{- end }}
{{- end -}}
