{{- /*
Characters that end a line, or a string, in some reader of YAML, Lua, INI or PromQL: no
value and no key may have one, whatever it is for. A line feed is not among them, because
it is an ordinary part of a query and of a configuration, and is indented or quoted.
Helm removes the text "<no value>" from what it renders, so that is refused too.
*/ -}}
{{- define "supersonic.characters.refused" -}}
[\x00-\x08\x0b-\x1f\x7f-\x9f\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]
{{- end -}}

{{- /* Those in JSON, which escapes most of them: it is quick to see that there are none, which is so nearly always. */ -}}
{{- define "supersonic.characters.escaped" -}}
\\([rbf]|u00[01]|u2028|u2029|u003cno value)|{{ include "supersonic.characters.refused" . }}
{{- end -}}

{{- define "supersonic.characters.errors" -}}
{{- if regexMatch (include "supersonic.characters.escaped" .) (omit .Values.AsMap "global" | toJson) }}
{{- include "supersonic.characters.inside" (list "" (omit .Values.AsMap "global")) }}
{{- end }}
{{- end -}}

{{- /* Takes a list: the path of a list or map, or of another value, and the value. */ -}}
{{- define "supersonic.characters.inside" -}}
{{- $at := first . -}}
{{- $refused := include "supersonic.characters.refused" . -}}
{{- if kindIs "map" (last .) }}
{{- range $key, $inner := last . }}
{{- if regexMatch $refused $key }}
{{ $at | default "values" }}: must not have a key with control characters or line separators, got {{ quote $key }}
{{- else if contains "<no value>" $key }}
{{ $at | default "values" }}: must not have a key with "no value" in angle brackets, which Helm removes
{{- else }}
{{- $step := regexMatch "^[-A-Za-z0-9_]+$" $key | ternary $key (quote $key) }}
{{- include "supersonic.characters.inside" (list (printf "%s.%s" $at $step | trimPrefix ".") $inner) }}
{{- end }}
{{- end }}
{{- else if kindIs "slice" (last .) }}
{{- /* There may be many, so the list is looked at as a whole first. */}}
{{- if regexMatch (include "supersonic.characters.escaped" .) (toJson (last .)) }}
{{- range $i, $inner := last . }}
{{- include "supersonic.characters.inside" (list (printf "%s[%d]" $at $i) $inner) }}
{{- end }}
{{- end }}
{{- else if kindIs "string" (last .) }}
{{- if regexMatch $refused (last .) }}
{{ $at }}: must not contain control characters or line separators, got {{ last . | trunc 80 | quote }}
{{- else if contains "<no value>" (last .) }}
{{ $at }}: must not contain "no value" in angle brackets, which Helm removes
{{- end }}
{{- end }}
{{- end -}}
