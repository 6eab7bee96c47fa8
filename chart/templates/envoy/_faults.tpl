{{- define "supersonic.envoy.faults" -}}
{{- end -}}
{{- define "supersonic.envoy.advice" -}}
{{- end -}}
