{{- /* The size of the fleet, for NOTES. */ -}}
{{- define "supersonic.notes.size" -}}
{{- $k := .Values.keda -}}
{{- if not $k.enabled -}}
{{ with include "supersonic.pods.replicas" .Values.triton }}{{ . }}, fixed{{ else }}set by an autoscaler of your own{{ end }}
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
{{- $least := include "supersonic.keda.min" . | int64 | max 1 }}

The HPA shrinks the fleet to {{ $least }}, as keda.scaleDown says. KEDA takes the last step, to zero replicas,
{{ include "supersonic.keda.cooldown" . }}s after the last request (keda.cooldownPeriod), regardless of keda.scaleDown.
{{- end }}
{{- end }}
{{- end -}}

{{- /* What an upgrade from 0.3.1 changes beside the values, for NOTES. */ -}}
{{- define "supersonic.notes.upgrade" -}}
{{- $live := include "supersonic.triton.live" . | fromJson -}}
{{- if $live.of031 }}

This upgrade is from 0.3.1, and docs/migrating.md has the rest of:
  {{- $user := dig "runAsUser" "of the image" .Values.triton.podSecurityContext }}
  - Triton runs as user {{ $user }}, without capabilities (triton.podSecurityContext, triton.securityContext).
  {{- if include "supersonic.triton.livenessIsProbed" . }}
  - A server that stops answering is restarted (triton.livenessProbe).
  {{- end }}
  {{- if and (include "supersonic.triton.hasDevice" .) (not .Values.triton.strategy) }}
  - A rollout ends a replica before it starts the next, which needs its GPU (triton.strategy).
  {{- end }}
  {{- if and (include "supersonic.scaling.builtIn" .) (include "supersonic.scaling.isRead" .) }}
  - The metric needs Envoy's series: an external Prometheus has to scrape Envoy's stats port too.
  {{- end }}
  - Health methods need no token, and a refused call ends with {{ .Values.envoy.rate_limiter.prometheus_based.statusCode }}, not with 0.
  - Prometheus, Grafana and Tempo are new pods, and what the old ones stored is gone; ServiceMonitors are gone (prometheus.podMonitors).
  - Helm's --reuse-values would leave the new defaults out: use --reset-then-reuse-values.
{{- if .Values.keda.enabled }}
The size of the fleet, {{ int64 $live.replicas }}, is kept. It stays in the manifests, so that a rollback restores the size of its revision.
{{- end }}
{{- end }}
{{- end -}}
