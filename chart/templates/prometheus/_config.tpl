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
{{- $others := .root.Values.prometheus.server.otherReleases -}}
{{- range $name, $value := include "supersonic.labels.selector" (list .root .component) | fromYaml }}
{{- if not (and $others (hasSuffix "/instance" $name)) }}
{{- $label = append $label (printf "%s=%s" $name $value) }}
{{- else if not (has "*" $others) }}
{{- $label = append $label (printf "%s in (%s)" $name (prepend $others $value | uniq | join ",")) }}
{{- end }}
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

{{- /* The labels of all series of a release. Takes the dict of scrapeJob. */ -}}
{{- define "supersonic.prometheus.relabel" -}}
- {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
- {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
{{- if .root.Values.prometheus.server.otherReleases }}
- {source_labels: [__meta_kubernetes_pod_label_app_kubernetes_io_instance], target_label: release}
{{- else }}
- {target_label: release, replacement: {{ include "supersonic.names.instance" .root | quote }}}
{{- end }}
- {target_label: app, replacement: {{ .root.Chart.Name | quote }}}
{{- end -}}
