{{- /* Where Tempo writes the metrics generated from traces; empty if there are none. */ -}}
{{- define "supersonic.tempo.remoteWriteUrl" -}}
{{- $generator := .Values.tempo.tempo.metricsGenerator -}}
{{- if and .Values.tempo.enabled $generator.enabled -}}
{{- if $generator.remoteWriteUrl -}}
{{- $generator.remoteWriteUrl -}}
{{- else if include "supersonic.prometheus.embedded" . -}}
{{- printf "%s/api/v1/write" (include "supersonic.prometheus.url" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "supersonic.tempo.config" -}}
{{- $tempo := .Values.tempo.tempo -}}
server: {http_listen_port: 3100}
usage_report: {reporting_enabled: false}
distributor:
  receivers:
    {{- toYaml $tempo.receivers | nindent 4 }}
compactor:
  compaction: {block_retention: {{ $tempo.retention }}}
storage:
  trace:
    backend: local
    local: {path: /var/tempo/traces}
    wal: {path: /var/tempo/wal}
{{- with include "supersonic.tempo.remoteWriteUrl" . }}
metrics_generator:
  registry:
    external_labels:
      release: {{ include "supersonic.names.instance" $ | quote }}
      namespace: {{ quote $.Release.Namespace }}
  storage:
    path: /var/tempo/generator/wal
    remote_write:
      - {url: {{ quote . }}, send_exemplars: true}
overrides:
  defaults:
    metrics_generator:
      processors: {{ toJson $tempo.overrides.defaults.metrics_generator_processors }}
{{- end }}
{{- end -}}

{{- define "supersonic.tempo.errors" -}}
{{- $retention := .Values.tempo.tempo.retention -}}
{{- if and .Values.tempo.enabled (eq (include "supersonic.scaling.milliseconds" $retention) "0") }}
tempo.tempo.retention: must be longer than 0, got {{ $retention }}
{{- end }}
{{- end -}}

{{- define "supersonic.tempo.warnings" -}}
{{- $generator := .Values.tempo.tempo.metricsGenerator -}}
{{- if and .Values.tempo.enabled $generator.enabled (not (include "supersonic.tempo.remoteWriteUrl" .)) }}
tempo.tempo.metricsGenerator.remoteWriteUrl: is empty and there is no embedded Prometheus, so no metrics are generated from the traces
{{- end }}
{{- end -}}

{{- /* The port of a listening address such as 0.0.0.0:4317. */ -}}
{{- define "supersonic.tempo.port" -}}
{{- splitList ":" . | last | int -}}
{{- end -}}
