{{- /* Faults and advice of the section keda, one a line. */ -}}
{{- define "supersonic.keda.faults" -}}
{{- if .Values.keda.enabled }}
{{- include "supersonic.keda.sizeFaults" . }}
{{- include "supersonic.keda.metricFaults" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.sizeFaults" -}}
{{- $k := .Values.keda -}}
{{- if gt (int64 $k.minReplicaCount) (int64 $k.maxReplicaCount) }}
keda.minReplicaCount: must be at most keda.maxReplicaCount, {{ int64 $k.maxReplicaCount }}, got {{ int64 $k.minReplicaCount }}
{{- end }}
{{- if gt (int64 $k.fallback.replicas) (int64 $k.maxReplicaCount) }}
keda.fallback.replicas: must be at most keda.maxReplicaCount, {{ int64 $k.maxReplicaCount }}, got {{ int64 $k.fallback.replicas }}
{{- end }}
{{- if include "supersonic.keda.zero" . }}
{{- if and (include "supersonic.keda.fallback" .) (lt (include "supersonic.keda.fallbackReplicas" . | int64) 1) }}
keda.fallback.replicas: must be at least 1 where the fleet may be at 0, or a lost metric takes the last servers from work in flight, got 0
{{- end }}
{{- if lt (include "supersonic.keda.cooldown" . | int64) (include "supersonic.keda.leastCooldown" . | int64) }}
keda.cooldownPeriod: must be at least {{ include "supersonic.keda.leastCooldown" . }} where the fleet may be at 0, the larger of keda.scaleDown.stabilizationWindowSeconds, {{ int64 $k.scaleDown.stabilizationWindowSeconds }}, and the server's start-up budget, {{ include "supersonic.triton.startupBudget" . }}, got {{ int64 $k.cooldownPeriod }}
{{- end }}
{{- if and (include "supersonic.scaling.builtIn" .) (not $k.wakeUp.enabled) }}
keda.wakeUp.enabled: must be true where the fleet may be at 0, since the built-in metric is 0 without servers, got false
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.metricFaults" -}}
{{- $k := .Values.keda -}}
{{- if and (include "supersonic.scaling.builtIn" .) (eq (include "supersonic.keda.metricType" .) "Value") }}
keda.metricType: must be AverageValue with the built-in metric, which is the need of the whole fleet, got Value
{{- end }}
{{- if and (include "supersonic.keda.fallback" .) (ne (include "supersonic.keda.ignoreNullValues" .) "false") }}
keda.ignoreNullValues: must be "false" with a fallback, or KEDA reads a lost metric as 0 and never falls back, got {{ toString $k.ignoreNullValues | quote }}; to go without one, set keda.fallback.enabled to false
{{- end }}
{{- end -}}

{{- define "supersonic.keda.advice" -}}
{{- if .Values.keda.enabled }}
{{- include "supersonic.keda.metricAdvice" . }}
{{- include "supersonic.keda.paceAdvice" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.metricAdvice" -}}
{{- $k := .Values.keda -}}
{{- $custom := not (include "supersonic.scaling.builtIn" .) -}}
{{- if and $custom (not $k.metricType) }}
keda.metricType: is AverageValue, so that serverLoadMetric has to measure the whole fleet; it used to be Value, for a metric of one replica: say which
{{- end }}
{{- if and (eq (include "supersonic.keda.metricType" .) "Value") (include "supersonic.keda.fallback" .) }}
keda.fallback: needs KEDA 2.18 with keda.metricType Value
{{- end }}
{{- if eq (include "supersonic.keda.ignoreNullValues" .) "true" }}
keda.ignoreNullValues: a lost Prometheus reads as an idle fleet, which shrinks to keda.minReplicaCount
{{- end }}
{{- if and $custom (include "supersonic.keda.zero" .) (not (include "supersonic.keda.wakes" .)) }}
keda.wakeUp: nothing but serverLoadMetric wakes the fleet at 0: it has to be above keda.activationThreshold when there is work and no server
{{- end }}
{{- end -}}

{{- define "supersonic.keda.paceAdvice" -}}
{{- $k := .Values.keda -}}
{{- if not (kindIs "invalid" $k.scaleUp.stepsize) }}
{{- $steps := divf (sub $k.maxReplicaCount (include "supersonic.keda.min" .)) $k.scaleUp.stepsize | ceil | int64 }}
{{- if gt $steps 1 }}
keda.scaleUp.stepsize: growing from {{ include "supersonic.keda.min" . }} to {{ int64 $k.maxReplicaCount }} servers takes {{ $steps }} steps, {{ mul $steps $k.scaleUp.periodSeconds }}s; null grows in one
{{- end }}
{{- end }}
{{- $down := mul 1000 $k.scaleDown.stabilizationWindowSeconds }}
{{- if and (include "supersonic.scaling.builtIn" .) (lt $down (include "supersonic.scaling.milliseconds" .Values.serverLoadRateInterval | int64)) }}
keda.scaleDown.stabilizationWindowSeconds: under serverLoadRateInterval, {{ .Values.serverLoadRateInterval }}, a restart of Prometheus or Envoy shrinks a busy fleet, got {{ int64 $k.scaleDown.stabilizationWindowSeconds }}
{{- end }}
{{- end -}}
