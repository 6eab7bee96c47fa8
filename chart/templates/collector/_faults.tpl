{{- define "supersonic.collector.faults" -}}
{{- $collector := .Values.metricsCollector -}}
{{- if $collector.ingress.enabled }}
{{- if not $collector.enabled }}
metricsCollector.ingress.enabled: requires metricsCollector.enabled
{{- else if not $collector.ingress.hostName }}
metricsCollector.ingress.hostName: must name a host, got none
{{- end }}
{{- end }}
{{- /* Beside an empty alternative, whatever is a regular expression matches nothing. */ -}}
{{- if and $collector.enabled (not (regexMatch (printf "|%s" $collector.metricNames) "")) }}
metricsCollector.metricNames: must be a regular expression, got {{ quote $collector.metricNames }}
{{- end }}
{{- end -}}
