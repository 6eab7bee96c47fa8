{{- /* "true" if something writes to the embedded Prometheus. */ -}}
{{- define "supersonic.prometheus.remoteWrite" -}}
{{- $here := printf "%s/" (include "supersonic.prometheus.url" .) -}}
{{- if has "web.enable-remote-write-receiver" .Values.prometheus.server.extraFlags -}}
true
{{- else if hasPrefix $here (include "supersonic.tempo.remoteWriteUrl" .) -}}
true
{{- else if (index .Values "opentelemetry-collector").enabled -}}
{{- $exporters := (include "supersonic.otel.config" . | fromYaml).exporters -}}
{{- range $name, $exporter := $exporters -}}
{{- if hasPrefix $here (dig "endpoint" "" $exporter) }}true{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
A scrape job for the running pods of a component, one target each: the container
port with the given name. Takes a dict: root, component, port, path, job.
*/ -}}
{{- define "supersonic.prometheus.scrapeJob" -}}
{{- $label := list -}}
{{- range $name, $value := include "supersonic.labels.selector" (list .root .component) | fromYaml }}
{{- $label = append $label (printf "%s=%s" $name $value) }}
{{- end -}}
- job_name: {{ .job }}
  metrics_path: {{ .path }}
  kubernetes_sd_configs:
    - role: pod
      namespaces: {names: [{{ quote .root.Release.Namespace }}]}
      selectors:
        - {role: pod, label: {{ join "," $label | quote }}}
  relabel_configs:
    - {source_labels: [__meta_kubernetes_pod_phase], regex: Running, action: keep}
    - {source_labels: [__meta_kubernetes_pod_container_port_name], regex: {{ .port }}, action: keep}
    {{- include "supersonic.prometheus.relabel" . | nindent 4 }}
{{- end -}}

{{- /* The labels of all series of this release. Takes the dict of scrapeJob. */ -}}
{{- define "supersonic.prometheus.relabel" -}}
- {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
- {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
- {target_label: release, replacement: {{ include "supersonic.names.instance" .root | quote }}}
- {target_label: app, replacement: {{ .root.Chart.Name | quote }}}
{{- end -}}
