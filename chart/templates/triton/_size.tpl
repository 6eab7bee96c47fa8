{{- /*
What an upgrade has to know of the live objects, as JSON: the size of the Triton
Deployment, whether 0.3.1 made it (its objects have no label with the chart), and
whether its manifest has a size: neither in an installation, or where there is no
cluster to ask. This is the chart's only use of lookup.
*/ -}}
{{- define "supersonic.triton.live" -}}
{{- $known := dict "replicas" 0 "of031" false "sized" false -}}
{{- if .Release.IsUpgrade -}}
{{- with lookup "apps/v1" "Deployment" .Release.Namespace (include "supersonic.triton.name" .) -}}
{{- $of031 := not (dig "metadata" "labels" "helm.sh/chart" "" .) -}}
{{- $sized := or $of031 (dig "metadata" "annotations" (include "supersonic.triton.sizedAnnotation" $) "" .) -}}
{{- if and (not $sized) ($.Capabilities.APIVersions.Has "keda.sh/v1alpha1") -}}
{{- /* Without a ScaledObject, KEDA was off. */ -}}
{{- $scaledObject := include "supersonic.names.component" (list $ "keda-so") -}}
{{- $sized = not (lookup "keda.sh/v1alpha1" "ScaledObject" $.Release.Namespace $scaledObject) -}}
{{- end -}}
{{- $known = dict "replicas" .spec.replicas "of031" $of031 "sized" (not (empty $sized)) -}}
{{- end -}}
{{- end -}}
{{- toJson $known -}}
{{- end -}}

{{- /*
The size to write into the Deployment although an autoscaler decides it: the live one, where
the last manifest had a size. Taking the field away would set it to null, which the
API server reads as 1. Otherwise nothing, so that neither an upgrade nor a rollback
has a size to go back to.
*/ -}}
{{- define "supersonic.triton.keptReplicas" -}}
{{- if or .Values.keda.enabled (not (include "supersonic.pods.replicas" .Values.triton)) -}}
{{- with include "supersonic.triton.live" . | fromJson -}}
{{- if .sized -}}
{{- int64 .replicas -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Says on a Deployment that its manifest has a size although KEDA decides it, so that the next one has it too. */ -}}
{{- define "supersonic.triton.sizedAnnotation" -}}
supersonic/replicas-in-manifest
{{- end -}}
