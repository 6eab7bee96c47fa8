{{- /*
All values together may take 512 KiB; with the manifests they have to fit into a Secret. More
is refused before anything else, because every other check takes longer with more values.
*/ -}}
{{- define "supersonic.size.errors" -}}
{{- $max := 524288 -}}
{{- $size := omit .Values.AsMap "global" | toJson | len -}}
{{- if gt $size $max }}
values: must be at most {{ $max }} bytes in all, as JSON, got {{ $size }}
{{- end }}
{{- end -}}
