{{- /*
Values that contradict each other stop the render, all at once. Each part of the
chart has a define "supersonic.<part>.faults" that gives its own, one a line, in
the form `key: what must be, got value`. What is only worth saying goes into
"supersonic.<part>.advice", which NOTES and `supersonic lint` print.
*/ -}}
{{- define "supersonic.faults" -}}
{{- $parts := list
  "names"
  "labels"
  "pods"
  "scaling"
  "keda"
  "triton"
  "network"
  "prometheus"
  "envoy"
  "gate"
  "grafana"
  "tempo"
  "otel"
  "collector"
-}}
{{- range $part := $parts }}
{{- include (printf "supersonic.%s.faults" $part) $ }}
{{- end }}
{{- end -}}

{{- define "supersonic.advice" -}}
{{- $parts := list
  "names"
  "scaling"
  "keda"
  "triton"
  "prometheus"
  "envoy"
  "grafana"
  "tempo"
-}}
{{- range $part := $parts }}
{{- include (printf "supersonic.%s.advice" $part) $ }}
{{- end }}
{{- end -}}
