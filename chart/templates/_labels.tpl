{{- /* The selector of a component's pods; it must never change. Takes a list: the root context, the component. */ -}}
{{- define "supersonic.labels.selector" -}}
app.kubernetes.io/name: {{ (first .).Chart.Name }}
app.kubernetes.io/instance: {{ include "supersonic.names.instance" (first .) | quote }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{- /* Labels of a component's objects. Takes a list: the root context, the component. */ -}}
{{- define "supersonic.labels.object" -}}
{{ include "supersonic.labels.selector" . }}
app.kubernetes.io/managed-by: {{ (first .).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (first .).Chart.Name (first .).Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Errors of the labels that users give to pods, one per line. */ -}}
{{- define "supersonic.labels.errors" -}}
{{- range $part := list "triton" "envoy" }}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
{{- if hasKey (get (get $.Values $part) "labels" | default dict) $label }}
{{ $part }}.labels: must not set {{ $label }}, which selects the pods
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
