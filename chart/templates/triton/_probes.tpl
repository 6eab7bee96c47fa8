{{- /* The probes of the Triton container, as YAML. */ -}}
{{- define "supersonic.triton.probes" -}}
{{- $t := .Values.triton -}}
{{- $probes := dict
  "startupProbe" (include "supersonic.triton.startupProbe" $t.startupProbe | fromYaml)
  "readinessProbe" (include "supersonic.triton.readinessProbe" $t.readinessProbe | fromYaml) -}}
{{- if $t.livenessProbe.enabled -}}
{{- /* Readiness is false while a model loads, so liveness checks less. */ -}}
{{- $live := dict "httpGet" (dict "path" "/v2/health/live" "port" "http") -}}
{{- $_ := set $probes "livenessProbe" (merge $live (pick $t.livenessProbe "periodSeconds" "failureThreshold" "timeoutSeconds")) -}}
{{- end -}}
{{- toYaml $probes -}}
{{- end -}}

{{- define "supersonic.triton.startupProbe" -}}
{{- $probe := dict "httpGet" (pick .httpGet "path" "port") -}}
{{- if not .reset -}}
{{- $probe = merge $probe (pick . "initialDelaySeconds" "periodSeconds" "failureThreshold") -}}
{{- with get . "timeoutSeconds" -}}
{{- $_ := set $probe "timeoutSeconds" . -}}
{{- end -}}
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
