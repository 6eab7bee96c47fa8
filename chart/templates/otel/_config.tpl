{{- /*
The collector's configuration: the user's config merged over the chart's, map by
map. An exporter without an endpoint is removed, also from the pipelines.
*/ -}}
{{- define "supersonic.otel.config" -}}
{{- $config := include "supersonic.otel.defaults" . | fromYaml -}}
{{- if not (include "supersonic.otel.shapeErrors" .) -}}
{{- $config = mustMergeOverwrite $config (index .Values "opentelemetry-collector" "config" | default dict | deepCopy) -}}
{{- end -}}
{{- $idle := list -}}
{{- range $name, $exporter := $config.exporters -}}
{{- if and (kindIs "map" $exporter) (hasKey $exporter "endpoint") -}}
{{- if not $exporter.endpoint }}{{ $idle = append $idle $name }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $idle }}{{ $_ := unset $config.exporters . }}{{ end -}}
{{- $pipelines := $config.service.pipelines -}}
{{- range $name, $pipeline := $pipelines -}}
{{- include "supersonic.otel.leaveOut" (list $pipelines $name $idle) -}}
{{- end -}}
{{- /* A connector that no pipeline receives from must not be exported to. */ -}}
{{- $read := list -}}
{{- range $pipelines }}{{ $read = concat $read .receivers }}{{ end -}}
{{- range $connector := keys $config.connectors | sortAlpha -}}
{{- if not (has $connector $read) -}}
{{- range $name, $pipeline := $pipelines -}}
{{- include "supersonic.otel.leaveOut" (list $pipelines $name (list $connector)) -}}
{{- end -}}
{{- $_ := unset $config.connectors $connector -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- /*
Removes exporters from a pipeline, and the pipeline if none is left. Takes a
list: the pipelines, the name of one, the exporters' names.
*/ -}}
{{- define "supersonic.otel.leaveOut" -}}
{{- $pipelines := first . -}}
{{- $name := index . 1 -}}
{{- $left := list -}}
{{- range (get $pipelines $name).exporters }}{{ if not (has . (last $)) }}{{ $left = append $left . }}{{ end }}{{ end -}}
{{- if $left }}{{ $_ := set (get $pipelines $name) "exporters" $left }}{{ else }}{{ $_ := unset $pipelines $name }}{{ end -}}
{{- end -}}

{{- /* The name of the image. Takes opentelemetry-collector.image. */ -}}
{{- define "supersonic.otel.image" -}}
{{- .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "supersonic.otel.errors" -}}
{{- $otel := index .Values "opentelemetry-collector" }}
{{- if and $otel.enabled (not (or $otel.image.tag $otel.image.digest (contains "@" $otel.image.repository))) }}
opentelemetry-collector.image.tag: must be set without a digest, got ""
{{- end }}
{{- if and $otel.enabled $otel.image.digest (contains "@" (printf "%s%s" $otel.image.repository $otel.image.tag)) }}
opentelemetry-collector.image.digest: must be empty if the repository or the tag has a digest, got {{ quote $otel.image.digest }}
{{- end }}
{{- if $otel.enabled }}
{{- include "supersonic.otel.shapeErrors" . }}
{{- if not (include "supersonic.otel.config" . | fromYaml).service.pipelines }}
opentelemetry-collector.enabled: has no destination: set tempo.enabled, or an endpoint in opentelemetry-collector.config.exporters.otlp
{{- end }}
{{- end }}
{{- end -}}

{{- /* The parts of the user's config that the chart reads must be of the collector's types. */ -}}
{{- define "supersonic.otel.shapeErrors" -}}
{{- $at := "opentelemetry-collector.config" }}
{{- $own := index .Values "opentelemetry-collector" "config" | default dict }}
{{- range $key, $value := pick $own "connectors" "exporters" "extensions" "processors" "receivers" "service" }}
{{- if not (kindIs "map" $value) }}
{{ $at }}.{{ $key }}: must be an object, got {{ toJson $value | trunc 80 }}
{{- end }}
{{- end }}
{{- $service := get $own "service" }}
{{- if kindIs "map" $service }}
{{- range $key, $value := pick $service "pipelines" }}
{{- if kindIs "map" $value }}
{{- range $name, $pipeline := $value }}
{{- include "supersonic.otel.pipelineErrors" (list (printf "%s.service.pipelines.%s" $at (toJson $name | trimAll "\"")) $name $pipeline) }}
{{- end }}
{{- else }}
{{ $at }}.service.pipelines: must be an object, got {{ toJson $value | trunc 80 }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a list: the path of a pipeline, its name, the pipeline. */ -}}
{{- define "supersonic.otel.pipelineErrors" -}}
{{- $at := first . }}
{{- $ours := has (index . 1) (list "traces" "metrics") }}
{{- if not (kindIs "map" (last .)) }}
{{ $at }}: must be an object, got {{ toJson (last .) | trunc 80 }}
{{- else }}
{{- $pipeline := last . }}
{{- range $part := list "receivers" "processors" "exporters" }}
{{- $names := get $pipeline $part }}
{{- if not (hasKey $pipeline $part) }}
{{- if not (or $ours (eq $part "processors")) }}
{{ $at }}.{{ $part }}: must be set
{{- end }}
{{- else if not (kindIs "slice" $names) }}
{{ $at }}.{{ $part }}: must be a list of strings, got {{ toJson $names | trunc 80 }}
{{- else }}
{{- range $i, $name := $names }}
{{- if not (kindIs "string" $name) }}
{{ $at }}.{{ $part }}[{{ $i }}]: must be a string, got {{ toJson $name | trunc 80 }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.otel.defaults" -}}
{{- $tempo := "" -}}
{{- if .Values.tempo.enabled }}{{ $tempo = include "supersonic.names.component" (list . "tempo") }}{{ end -}}
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "0.0.0.0:4317"}
      http: {endpoint: "0.0.0.0:4318"}
exporters:
  otlp:
    endpoint: {{ if $tempo }}{{ printf "http://%s:4317" $tempo | quote }}{{ else }}""{{ end }}
    tls: {insecure: true}
  otlphttp:
    endpoint: {{ if $tempo }}{{ printf "http://%s:4318" $tempo | quote }}{{ else }}""{{ end }}
    tls: {insecure: true}
  prometheusremotewrite:
    {{- $embedded := include "supersonic.prometheus.embedded" . }}
    endpoint: {{ if $embedded }}{{ printf "%s/api/v1/write" (include "supersonic.prometheus.url" .) | quote }}{{ else }}""{{ end }}
    target_info: {enabled: true}
    external_labels:
      release: {{ include "supersonic.names.instance" . | quote }}
      namespace: {{ quote .Release.Namespace }}
processors:
  memory_limiter: {check_interval: 1s, limit_percentage: 80, spike_limit_percentage: 20}
  batch: {}
  transform:
    trace_statements:
      - context: resource
        statements:
          - >-
            set(attributes["service.name"], attributes["pod_name"])
            where attributes["service.name"] == "triton-inference-server" and attributes["pod_name"] != nil
      - context: span
        statements:
          - set(kind, SPAN_KIND_SERVER) where name != "ingress"
          - set(kind, SPAN_KIND_CLIENT) where name == "ingress"
connectors:
  spanmetrics:
    histogram:
      explicit:
        buckets: [100us, 1ms, 2ms, 6ms, 10ms, 100ms, 250ms]
    dimensions:
      - {name: http.method, default: GET}
      - {name: http.status_code}
    exemplars: {enabled: true}
    exclude_dimensions: [status.code]
    dimensions_cache_size: 1000
    aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE
    metrics_flush_interval: 15s
    metrics_expiration: 5m
    events:
      enabled: true
      dimensions:
        - {name: exception.type}
        - {name: exception.message}
    resource_metrics_key_attributes: [service.name, telemetry.sdk.language, telemetry.sdk.name]
extensions:
  health_check: {endpoint: "0.0.0.0:13133"}
service:
  extensions: [health_check]
  telemetry:
    metrics:
      readers:
        - pull: {exporter: {prometheus: {host: 0.0.0.0, port: 8888}}}
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter, transform, batch]
      exporters: [otlp, spanmetrics]
    metrics:
      receivers: [spanmetrics]
      processors: [memory_limiter, batch]
      exporters: [prometheusremotewrite]
{{- end -}}
