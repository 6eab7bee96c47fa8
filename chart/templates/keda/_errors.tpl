{{- /* Errors and warnings of the section keda, one per line. */ -}}
{{- define "supersonic.keda.errors" -}}
{{- if .Values.keda.enabled }}
{{- include "supersonic.keda.sizeErrors" . }}
{{- include "supersonic.keda.metricErrors" . }}
{{- include "supersonic.keda.toleranceErrors" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.sizeErrors" -}}
{{- $k := .Values.keda -}}
{{- if gt (int64 $k.minReplicaCount) (int64 $k.maxReplicaCount) }}
keda.minReplicaCount: must be at most keda.maxReplicaCount ({{ int64 $k.maxReplicaCount }}), got {{ int64 $k.minReplicaCount }}
{{- end }}
{{- if gt (int64 $k.fallback.replicas) (int64 $k.maxReplicaCount) }}
keda.fallback.replicas: must be at most keda.maxReplicaCount ({{ int64 $k.maxReplicaCount }}), got {{ int64 $k.fallback.replicas }}
{{- end }}
{{- if include "supersonic.keda.zero" . }}
{{- if and (include "supersonic.keda.fallback" .) (lt (include "supersonic.keda.fallbackReplicas" . | int64) 1) }}
keda.fallback.replicas: must be at least 1 if the fleet may be at zero replicas, otherwise a lost metric removes the last replicas while requests are in flight, got 0
{{- end }}
{{- if lt (include "supersonic.keda.cooldown" . | int64) (include "supersonic.keda.leastCooldown" . | int64) }}
keda.cooldownPeriod: must be at least {{ include "supersonic.keda.leastCooldown" . }} if the fleet may be at zero replicas: the larger of keda.scaleDown.stabilizationWindowSeconds ({{ int64 $k.scaleDown.stabilizationWindowSeconds }}) and the startup budget of Triton ({{ include "supersonic.triton.startupBudget" . }}), got {{ int64 $k.cooldownPeriod }}
{{- end }}
{{- if and (include "supersonic.scaling.builtIn" .) (not $k.wakeUp.enabled) }}
keda.wakeUp.enabled: must be true if the fleet may be at zero replicas, because the built-in metric is 0 without replicas, got false
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.metricErrors" -}}
{{- $k := .Values.keda -}}
{{- if and (include "supersonic.scaling.builtIn" .) (eq (include "supersonic.keda.metricType" .) "Value") }}
keda.metricType: must be AverageValue with the built-in metric, which measures the whole fleet, got Value
{{- end }}
{{- if and (include "supersonic.keda.fallback" .) (ne (include "supersonic.keda.ignoreNullValues" .) "false") }}
keda.ignoreNullValues: must be "false" with a fallback, otherwise KEDA reads a lost metric as 0 and never falls back, got {{ toString $k.ignoreNullValues | quote }}; to go without a fallback, set keda.fallback.enabled to false
{{- end }}
{{- end -}}

{{- define "supersonic.keda.toleranceErrors" -}}
{{- $kubernetes := .Capabilities.KubeVersion.Version -}}
{{- range $key := list "scaleUp" "scaleDown" }}
{{- if and (include "supersonic.keda.tolerance" (get $.Values.keda $key)) (semverCompare "<1.33-0" $kubernetes) }}
keda.{{ $key }}.tolerance: must be null before Kubernetes 1.33, which has no tolerance to set, got {{ get $.Values.keda $key | dig "tolerance" "" }} with {{ $kubernetes }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.warnings" -}}
{{- if .Values.keda.enabled }}
{{- include "supersonic.keda.metricWarnings" . }}
{{- include "supersonic.keda.paceWarnings" . }}
{{- include "supersonic.keda.toleranceWarnings" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.metricWarnings" -}}
{{- $k := .Values.keda -}}
{{- $custom := not (include "supersonic.scaling.builtIn" .) -}}
{{- if and $custom (not $k.metricType) }}
keda.metricType: defaults to AverageValue, so serverLoadMetric must measure the whole fleet; in 0.3.1 it was Value, for a metric of one replica: set it explicitly
{{- end }}
{{- if and (eq (include "supersonic.keda.metricType" .) "Value") (include "supersonic.keda.fallback" .) }}
keda.fallback: requires KEDA 2.18 or later with keda.metricType Value
{{- end }}
{{- if eq (include "supersonic.keda.ignoreNullValues" .) "true" }}
keda.ignoreNullValues: if Prometheus is lost, the fleet looks idle and shrinks to keda.minReplicaCount
{{- end }}
{{- if and $custom (include "supersonic.keda.zero" .) (not (include "supersonic.keda.wakes" .)) }}
keda.wakeUp: only serverLoadMetric wakes a fleet at zero replicas: it must exceed keda.activationThreshold when there is work but no replica
{{- end }}
{{- end -}}

{{- define "supersonic.keda.paceWarnings" -}}
{{- $k := .Values.keda -}}
{{- if not (kindIs "invalid" $k.scaleUp.stepsize) }}
{{- $steps := divf (sub $k.maxReplicaCount (include "supersonic.keda.min" .)) $k.scaleUp.stepsize | ceil | int64 }}
{{- if gt $steps 1 }}
keda.scaleUp.stepsize: scaling from {{ include "supersonic.keda.min" . }} to {{ int64 $k.maxReplicaCount }} replicas takes {{ $steps }} steps ({{ mul $steps $k.scaleUp.periodSeconds }}s); null scales in one step
{{- end }}
{{- end }}
{{- $down := mul 1000 $k.scaleDown.stabilizationWindowSeconds }}
{{- $window := include "supersonic.scaling.milliseconds" .Values.serverLoadRateInterval | int64 }}
{{- if and (include "supersonic.scaling.builtIn" .) (lt $down $window) }}
keda.scaleDown.stabilizationWindowSeconds: should be at least serverLoadRateInterval ({{ .Values.serverLoadRateInterval }}), or a restart of Prometheus or Envoy shrinks a busy fleet, got {{ int64 $k.scaleDown.stabilizationWindowSeconds }}
{{- end }}
{{- end -}}

{{- define "supersonic.keda.toleranceWarnings" -}}
{{- $kubernetes := .Capabilities.KubeVersion.Version -}}
{{- range $key := list "scaleUp" "scaleDown" }}
{{- if and (include "supersonic.keda.tolerance" (get $.Values.keda $key)) (semverCompare "<1.35-0" $kubernetes) }}
keda.{{ $key }}.tolerance: Kubernetes {{ $kubernetes }} ignores it unless the feature gate HPAConfigurableTolerance is on, as it is by default since 1.35
{{- end }}
{{- end }}
{{- end -}}
