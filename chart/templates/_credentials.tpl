{{- /*
Credentials in values, which are rendered in clear: a ConfigMap, an argument or a
variable shows them to whoever may read it. A string is taken for one if its key says
so and it is no reference, or if it is a URL with a password.
*/ -}}
{{- define "supersonic.credentials.warnings" -}}
{{- range $section, $way := include "supersonic.credentials.ways" . | fromYaml }}
{{- $values := get $.Values.AsMap $section }}
{{- if or (has $section (list "triton" "prometheus")) (get $values "enabled") }}
{{- include "supersonic.credentials.inside" (list $section $values $way) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.credentials.ways" -}}
grafana: grafana.envFromSecret, with a key such as GF_SMTP_PASSWORD
opentelemetry-collector: your own collector (envoy.tracing.host), which reads it from a Secret
prometheus: prometheus.external.auth, which reads a Secret, or your own Prometheus
tempo: your own Tempo, which reads it from a Secret
triton: valueFrom.secretKeyRef or triton.envFrom
{{- end -}}

{{- define "supersonic.credentials.name" -}}
(?i)(passw(or)?d|secret|token|credentials?|authorization|cookie|(api|access|private|auth|account|storage)[-_]?key)$
{{- end -}}

{{- /* Matches the JSON of values that may have one: most have none, which is quick to see. */ -}}
{{- define "supersonic.credentials.json" -}}
{{- $name := include "supersonic.credentials.name" . | trimSuffix "$" -}}
{{ $name }}":"[^"]|"name":"[^"]*{{ $name }}"|[a-z]://[^/@]*:[^/@]+@
{{- end -}}

{{- /* Takes a list: the key, the value, what to use instead. */ -}}
{{- define "supersonic.credentials.inside" -}}
{{- $at := index . 0 -}}
{{- $value := index . 1 -}}
{{- $way := index . 2 -}}
{{- $isName := include "supersonic.credentials.name" . -}}
{{- if not (regexMatch (include "supersonic.credentials.json" .) (toJson $value)) }}
{{- else if kindIs "map" $value }}
{{- range $key, $inner := $value }}
{{- $step := regexMatch "^[-A-Za-z0-9_]+$" $key | ternary $key (quote $key) }}
{{- $isCredential := and (regexMatch $isName $key) (not (has $key (list "existingSecret" "envFromSecret"))) }}
{{- if eq $key "value" }}{{ $isCredential = regexMatch $isName (get $value "name" | toString) }}{{ end }}
{{- $text := kindIs "string" $inner | ternary $inner "" }}
{{- $isCredential = and $isCredential (not (regexMatch "^\\$+(__)?[a-z]*\\{" $text)) }}
{{- if and $text (or $isCredential (regexMatch "^[a-z]+://[^/@]*:[^/@]+@" $text)) }}
{{ $at }}.{{ $step }}: is a credential in clear: put it into a Secret and use {{ $way }}
{{- else }}
{{- include "supersonic.credentials.inside" (list (printf "%s.%s" $at $step) $inner $way) }}
{{- end }}
{{- end }}
{{- else if kindIs "slice" $value }}
{{- range $i, $inner := $value }}
{{- include "supersonic.credentials.inside" (list (printf "%s[%d]" $at $i) $inner $way) }}
{{- end }}
{{- end }}
{{- end -}}
