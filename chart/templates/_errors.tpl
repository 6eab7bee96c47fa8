{{- /*
Invalid values stop the render, and every error is listed. Each part of the chart
has a define "supersonic.<part>.errors" that prints its errors, one per line, as
`key: what it must be, got value`. Warnings go into "supersonic.<part>.warnings",
which NOTES and `supersonic lint` print.
*/ -}}
{{- define "supersonic.errors" -}}
{{- $parts := list
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
{{- with include "supersonic.ground.errors" . | trim }}
{{ . }}
{{- else }}
{{- range $part := $parts }}
{{- include (printf "supersonic.%s.errors" $part) $ }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Errors that the other checks would stumble over: they read what is rendered with these sizes, characters and names. */ -}}
{{- define "supersonic.ground.errors" -}}
{{- with include "supersonic.size.errors" . }}
{{- . }}
{{- else }}
{{- include "supersonic.characters.errors" . }}
{{- include "supersonic.names.errors" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.warnings" -}}
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
{{- if not (include "supersonic.ground.errors" . | trim) }}
{{- range $part := $parts }}
{{- include (printf "supersonic.%s.warnings" $part) $ }}
{{- end }}
{{- end }}
{{- end -}}
