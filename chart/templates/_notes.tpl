{{- /* What NOTES says of the size of the fleet. */ -}}
{{- define "supersonic.notes.size" -}}
{{- $k := .Values.keda -}}
{{- if not $k.enabled -}}
{{ int64 .Values.triton.replicas }}, fixed
{{- else if $k.zeroIdleReplicas -}}
0 when idle, else {{ include "supersonic.keda.min" . }} to {{ int64 $k.maxReplicaCount }}, by KEDA
{{- else -}}
{{ include "supersonic.keda.min" . }} to {{ int64 $k.maxReplicaCount }}, by KEDA
{{- end -}}
{{- end -}}

{{- /* What NOTES says of KEDA. */ -}}
{{- define "supersonic.notes.keda" -}}
{{- if .Values.keda.enabled }}
{{- if include "supersonic.keda.zero" . }}

From many servers to {{ max 1 (include "supersonic.keda.min" . | int64) }} it is the HPA that shrinks the fleet, by keda.scaleDown. The last step, to 0, is KEDA's
own, {{ include "supersonic.keda.cooldown" . }}s after the last work (keda.cooldownPeriod), and goes past keda.scaleDown.
{{- end }}
{{- if .Release.IsUpgrade }}

Where KEDA was off before, this upgrade takes replicas out of the Deployment and Kubernetes sets
it to 1 once; KEDA restores the size at its next look.
{{- end }}
{{- end }}
{{- end -}}
