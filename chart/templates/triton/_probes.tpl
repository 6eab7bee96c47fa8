{{- /* The probes of the Triton container, as YAML. */ -}}
{{- define "supersonic.triton.probes" -}}
{{- $t := .Values.triton -}}
{{- $probes := dict -}}
{{- with get $t "readinessProbe" -}}
{{- $_ := set $probes "readinessProbe" (include "supersonic.triton.readinessProbe" . | fromYaml) -}}
{{- end -}}
{{- if include "supersonic.triton.startupIsProbed" . -}}
{{- $_ := set $probes "startupProbe" (include "supersonic.triton.startupProbe" $t.startupProbe | fromYaml) -}}
{{- end -}}
{{- if include "supersonic.triton.livenessIsProbed" . -}}
{{- /* Readiness is false while a model loads, so liveness checks less. */ -}}
{{- $live := dict "httpGet" (dict "path" "/v2/health/live" "port" "http") -}}
{{- $_ := set $probes "livenessProbe" (merge $live (pick $t.livenessProbe "periodSeconds" "failureThreshold" "timeoutSeconds")) -}}
{{- end -}}
{{- with $probes }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* "true" if there is a startup probe; reset means none, as in 0.3.1. */ -}}
{{- define "supersonic.triton.startupIsProbed" -}}
{{- with get .Values.triton "startupProbe" }}{{ if not .reset }}true{{ end }}{{ end -}}
{{- end -}}

{{- /* "true" if there is a liveness probe. Without a startup probe, it would restart a Triton that is loading its models. */ -}}
{{- define "supersonic.triton.livenessIsProbed" -}}
{{- with get .Values.triton "livenessProbe" }}{{ if .enabled }}{{ include "supersonic.triton.startupIsProbed" $ }}{{ end }}{{ end -}}
{{- end -}}

{{- define "supersonic.triton.startupProbe" -}}
{{- $probe := dict "httpGet" (pick .httpGet "path" "port") -}}
{{- $probe = merge $probe (pick . "initialDelaySeconds" "periodSeconds" "failureThreshold") -}}
{{- with get . "timeoutSeconds" -}}
{{- $_ := set $probe "timeoutSeconds" . -}}
{{- end -}}
{{- toYaml $probe -}}
{{- end -}}

{{- define "supersonic.triton.readinessProbe" -}}
{{- $probe := dict -}}
{{- if .command -}}
{{- $_ := set $probe "exec" (dict "command" .command) -}}
{{- else -}}
{{- $_ := set $probe "httpGet" (dict "path" .path "port" "http") -}}
{{- end -}}
{{- if not .reset -}}
{{- $probe = merge $probe (pick . "initialDelaySeconds" "periodSeconds" "failureThreshold" "timeoutSeconds" "successThreshold") -}}
{{- end -}}
{{- toYaml $probe -}}
{{- end -}}
