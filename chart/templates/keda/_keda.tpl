{{- /* "true" if the fleet may be at zero replicas. */ -}}
{{- define "supersonic.keda.zero" -}}
{{- if and .Values.keda.enabled (or .Values.keda.zeroIdleReplicas (eq (int64 .Values.keda.minReplicaCount) 0)) }}true{{ end -}}
{{- end -}}

{{- /* "true" if calls that found no replica wake the fleet. */ -}}
{{- define "supersonic.keda.wakes" -}}
{{- if and (include "supersonic.keda.zero" .) .Values.keda.wakeUp.enabled (include "supersonic.scaling.seesEnvoy" .) }}true{{ end -}}
{{- end -}}

{{- /* Minimum size while there is work. KEDA requires the idle size to be smaller. */ -}}
{{- define "supersonic.keda.min" -}}
{{- $k := .Values.keda -}}
{{- if $k.zeroIdleReplicas }}{{ max 1 (int64 $k.minReplicaCount) }}{{ else }}{{ int64 $k.minReplicaCount }}{{ end -}}
{{- end -}}

{{- /* The shortest cooldown that removes no replica that is still starting, or that the HPA still keeps. */ -}}
{{- define "supersonic.keda.leastCooldown" -}}
{{- max (int64 .Values.keda.scaleDown.stabilizationWindowSeconds) (include "supersonic.triton.startupBudget" . | int64) -}}
{{- end -}}

{{- define "supersonic.keda.metricType" -}}
{{- .Values.keda.metricType | default "AverageValue" -}}
{{- end -}}

{{- define "supersonic.keda.cooldown" -}}
{{- if kindIs "invalid" .Values.keda.cooldownPeriod -}}
{{- include "supersonic.keda.leastCooldown" . -}}
{{- else -}}
{{- int64 .Values.keda.cooldownPeriod -}}
{{- end -}}
{{- end -}}

{{- /* "true" if a fallback is rendered. */ -}}
{{- define "supersonic.keda.fallback" -}}
{{- if kindIs "invalid" .Values.keda.fallback.enabled -}}
{{- include "supersonic.scaling.builtIn" . -}}
{{- else if .Values.keda.fallback.enabled -}}
true
{{- end -}}
{{- end -}}

{{- define "supersonic.keda.fallbackReplicas" -}}
{{- if kindIs "invalid" .Values.keda.fallback.replicas -}}
{{- max 1 (int64 .Values.keda.minReplicaCount) -}}
{{- else -}}
{{- int64 .Values.keda.fallback.replicas -}}
{{- end -}}
{{- end -}}

{{- /* "true", "false", or empty for KEDA's default. */ -}}
{{- define "supersonic.keda.ignoreNullValues" -}}
{{- if not (kindIs "invalid" .Values.keda.ignoreNullValues) -}}
{{- toString .Values.keda.ignoreNullValues -}}
{{- else if or (include "supersonic.scaling.builtIn" .) (include "supersonic.keda.fallback" .) -}}
false
{{- end -}}
{{- end -}}

{{- /* A trigger on Prometheus. Takes a dict: root, name, metricType, metadata (all strings). */ -}}
{{- define "supersonic.keda.trigger" -}}
{{- $address := dict "serverAddress" (include "supersonic.prometheus.url" .root) -}}
{{- $more := include "supersonic.prometheus.kedaMetadata" .root | fromYaml -}}
{{- with .root.Values.keda.timeout }}{{ $_ := set $more "timeout" (include "supersonic.scaling.milliseconds" .) }}{{ end -}}
- type: prometheus
  name: {{ .name }}
  metricType: {{ .metricType }}
  metadata:
    {{- merge dict .metadata $address $more | toYaml | nindent 4 }}
  {{- with include "supersonic.prometheus.kedaAuthenticationRef" .root }}
  authenticationRef:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* The trigger that scales the fleet. */ -}}
{{- define "supersonic.keda.loadTrigger" -}}
{{- $metadata := dict
  "query" (include "supersonic.scaling.neededReplicas" .)
  "threshold" (include "supersonic.scaling.scalingThreshold" .)
  "activationThreshold" (toJson .Values.keda.activationThreshold) -}}
{{- with include "supersonic.keda.ignoreNullValues" . }}{{ $_ := set $metadata "ignoreNullValues" . }}{{ end -}}
{{- $type := include "supersonic.keda.metricType" . -}}
{{- include "supersonic.keda.trigger" (dict "root" . "name" "load" "metricType" $type "metadata" $metadata) -}}
{{- end -}}

{{- /* The trigger that wakes the fleet: its target is so large that it asks for one replica and never for two. */ -}}
{{- define "supersonic.keda.wakeUpTrigger" -}}
{{- $metadata := dict
  "query" (include "supersonic.scaling.wakeUp" .)
  "threshold" "1000000"
  "activationThreshold" (toJson .Values.keda.wakeUp.activationThreshold)
  "ignoreNullValues" "false" -}}
{{- include "supersonic.keda.trigger" (dict "root" . "name" "wake-up" "metricType" "AverageValue" "metadata" $metadata) -}}
{{- end -}}

{{- /* A tolerance of the HPA, a quantity, or nothing. Takes scaleUp or scaleDown. */ -}}
{{- define "supersonic.keda.tolerance" -}}
{{- if not (kindIs "invalid" .tolerance) }}{{ toJson .tolerance | quote }}{{ end -}}
{{- end -}}
