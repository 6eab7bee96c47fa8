{{- define "supersonic.collector.errors" -}}
{{- $collector := .Values.metricsCollector -}}
{{- if $collector.ingress.enabled }}
{{- if not $collector.enabled }}
metricsCollector.ingress.enabled: requires metricsCollector.enabled
{{- else if not $collector.ingress.hostName }}
metricsCollector.ingress.hostName: must name a host, got none
{{- end }}
{{- end }}
{{- /* With an empty alternative, every valid regular expression matches the empty string. */ -}}
{{- if and $collector.enabled (not (regexMatch (printf "|%s" $collector.metricNames) "")) }}
metricsCollector.metricNames: must be a regular expression, got {{ quote $collector.metricNames }}
{{- end }}
{{- end -}}
