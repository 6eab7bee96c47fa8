{{- /*
Invalid values stop the render, and every error is listed. Each part of the chart
has a define "supersonic.<part>.faults" that prints its errors, one per line, as
`key: what it must be, got value`. Warnings go into "supersonic.<part>.advice",
which NOTES and `supersonic lint` print.
*/ -}}
{{- define "supersonic.faults" -}}
{{- $parts := list
  "characters"
  "names"
  "labels"
  "pods"
  "strings"
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
{{- with include "supersonic.size.faults" . }}
{{- . }}
{{- else }}
{{- range $part := $parts }}
{{- include (printf "supersonic.%s.faults" $part) $ }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.advice" -}}
{{- $parts := list
  "names"
  "credentials"
  "scaling"
  "keda"
  "triton"
  "network"
  "prometheus"
  "envoy"
  "grafana"
  "tempo"
-}}
{{- if not (include "supersonic.size.faults" .) }}
{{- range $part := $parts }}
{{- include (printf "supersonic.%s.advice" $part) $ }}
{{- end }}
{{- end }}
{{- end -}}
