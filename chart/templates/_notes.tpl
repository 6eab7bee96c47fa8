{{- /* The size of the fleet, for NOTES. */ -}}
{{- define "supersonic.notes.size" -}}
{{- $k := .Values.keda -}}
{{- if not $k.enabled -}}
{{ int64 .Values.triton.replicas }}, fixed
{{- else if $k.zeroIdleReplicas -}}
0 when idle, otherwise {{ include "supersonic.keda.min" . }} to {{ int64 $k.maxReplicaCount }}, set by KEDA
{{- else -}}
{{ include "supersonic.keda.min" . }} to {{ int64 $k.maxReplicaCount }}, set by KEDA
{{- end -}}
{{- end -}}

{{- /* How KEDA scales, for NOTES. */ -}}
{{- define "supersonic.notes.keda" -}}
{{- if .Values.keda.enabled }}
{{- if include "supersonic.keda.zero" . }}

The HPA shrinks the fleet to {{ max 1 (include "supersonic.keda.min" . | int64) }}, as keda.scaleDown says. KEDA takes the last step, to zero replicas,
{{ include "supersonic.keda.cooldown" . }}s after the last request (keda.cooldownPeriod), regardless of keda.scaleDown.
{{- end }}
{{- if .Release.IsUpgrade }}

If KEDA was disabled before, this upgrade removes replicas from the Deployment, and Kubernetes sets
it to 1 once; KEDA restores the size at its next poll.
{{- end }}
{{- end }}
{{- end -}}
