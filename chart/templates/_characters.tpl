{{- /*
Characters that end a line, or a string, in some reader of YAML, Lua, INI or PromQL: no
value and no key may have one, whatever it is for. A line feed is not among them, because
it is an ordinary part of a query and of a configuration, and is indented or quoted.
*/ -}}
{{- define "supersonic.characters.refused" -}}
[\x00-\x08\x0b-\x1f\x7f-\x9f\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]
{{- end -}}

{{- define "supersonic.characters.faults" -}}
{{- /* JSON escapes most of them; it is quick to see that there are none, which is so nearly always. */ -}}
{{- if regexMatch (printf "\\\\([rbf]|u00[01]|u2028|u2029)|%s" (include "supersonic.characters.refused" .)) (toJson .Values) }}
{{- include "supersonic.characters.inside" (list "" .Values.AsMap) }}
{{- end }}
{{- end -}}

{{- /* Takes a list: the key, the value. */ -}}
{{- define "supersonic.characters.inside" -}}
{{- $at := first . -}}
{{- $value := last . -}}
{{- if kindIs "string" $value }}
{{- if regexMatch (include "supersonic.characters.refused" .) $value }}
{{ $at }}: must not contain control characters or line separators, got {{ quote $value }}
{{- end }}
{{- else if kindIs "map" $value }}
{{- range $key, $inner := $value }}
{{- if regexMatch (include "supersonic.characters.refused" $) $key }}
{{ $at | default "values" }}: must not have a key with control characters or line separators, got {{ quote $key }}
{{- else }}
{{- $step := regexMatch "^[-A-Za-z0-9_]+$" $key | ternary $key (quote $key) }}
{{- include "supersonic.characters.inside" (list (printf "%s.%s" $at $step | trimPrefix ".") $inner) }}
{{- end }}
{{- end }}
{{- else if kindIs "slice" $value }}
{{- range $i, $inner := $value }}
{{- include "supersonic.characters.inside" (list (printf "%s[%d]" $at $i) $inner) }}
{{- end }}
{{- end }}
{{- end -}}
