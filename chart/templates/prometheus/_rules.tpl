{{- /* "true" if the release's rules are evaluated, by the embedded Prometheus or an operator's. */ -}}
{{- define "supersonic.prometheus.rulesOn" -}}
{{- if .Values.prometheus.rules.enabled -}}
{{- if or (include "supersonic.prometheus.embedded" .) (include "supersonic.prometheus.operator" .) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* "true" if a Prometheus Operator scrapes this release instead of the embedded Prometheus. */ -}}
{{- define "supersonic.prometheus.operator" -}}
{{- if and .Values.prometheus.podMonitors.enabled (not (include "supersonic.prometheus.embedded" .)) -}}true{{- end -}}
{{- end -}}

{{- /* Label matchers of the recorded series. */ -}}
{{- define "supersonic.prometheus.recorded" -}}
namespace={{ .Release.Namespace | quote }},release={{ include "supersonic.names.instance" . | quote }}
{{- end -}}

{{- /* An operator's Prometheus may not load the rules, so there the record has to be requested explicitly. */ -}}
{{- define "supersonic.prometheus.gateReadsRecord" -}}
{{- $asked := .Values.prometheus.rules.gateReadsRecord -}}
{{- $sure := and .Values.prometheus.rules.enabled (include "supersonic.prometheus.embedded" .) (include "supersonic.scaling.builtIn" .) -}}
{{- if ternary $sure $asked (kindIs "invalid" $asked) -}}true{{- end -}}
{{- end -}}

{{- /* The gate's query: the metric, or the recorded ratio. */ -}}
{{- define "supersonic.prometheus.gateQuery" -}}
{{- if include "supersonic.prometheus.gateReadsRecord" . -}}
supersonic:occupancy_ratio{ {{- include "supersonic.prometheus.recorded" . -}} }
{{- else -}}
{{- include "supersonic.scaling.occupancyRatio" . -}}
{{- end -}}
{{- end -}}

{{- /* Takes a dict: root, name, expr. */ -}}
{{- define "supersonic.prometheus.record" -}}
- record: {{ .name }}
  expr: |
    {{- .expr | trim | nindent 4 }}
  labels:
    release: {{ include "supersonic.names.instance" .root | quote }}
    namespace: {{ quote .root.Release.Namespace }}
{{- end -}}

{{- define "supersonic.prometheus.rules" -}}
{{- $root := . -}}
{{- $params := include "supersonic.scaling.params" . | fromJson -}}
groups:
  - name: supersonic-terms
    rules:
      {{- range $record := include "supersonic.promql.records" . | fromJsonArray }}
      {{- $expr := include (printf "supersonic.promql.%s" (last $record)) $params }}
      {{- include "supersonic.prometheus.record" (dict "root" $root "name" (first $record) "expr" $expr) | nindent 6 }}
      {{- end }}
      {{- $requests := include "supersonic.prometheus.requestRate" $params }}
      {{- include "supersonic.prometheus.record" (dict "root" $root "name" "supersonic:requests:rate" "expr" $requests) | nindent 6 }}
  - name: supersonic-alerts
    rules:
      {{- include "supersonic.prometheus.alerts" . | trim | nindent 6 }}
{{- end -}}

{{- /* Requests per second from Envoy to Triton. Takes the parameters of the queries. */ -}}
{{- define "supersonic.prometheus.requestRate" -}}
sum(rate(envoy_cluster_upstream_rq_total{envoy_cluster_name="triton_grpc_service", {{- .envoySelector -}} }[{{ .rateInterval }}]))
{{- end -}}
