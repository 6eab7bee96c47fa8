{{- /*
What scales and what protects the fleet, read from the values in this one place.
A query is the user's own serverLoadMetric, as it is and never as a template, or
the built-in one. Numbers are given as text that every consumer reads: toJson
writes 1000000 where a template alone would write 1e+06.
*/ -}}

{{- /* "true" with the built-in metric, else empty. */ -}}
{{- define "supersonic.scaling.builtIn" -}}
{{- if not .Values.serverLoadMetric }}true{{ end -}}
{{- end -}}

{{- /* Label matchers that pin this release. */ -}}
{{- define "supersonic.scaling.releaseMatchers" -}}
namespace={{ .Release.Namespace | quote }},release={{ include "supersonic.names.instance" . | quote }}
{{- end -}}

{{- /* Label matchers without braces. Takes a list: the root context, envoy or triton. */ -}}
{{- define "supersonic.scaling.matchers" -}}
{{- $own := get (first .).Values.serverLoadSelector (last .) | default "" | trim -}}
{{- $own = $own | trimPrefix "{" | trimSuffix "}" | trim -}}
{{- $own | default (include "supersonic.scaling.releaseMatchers" (first .)) -}}
{{- end -}}

{{- /* "true" where an Envoy is there to be read: this release's, or the one that the matchers name. */ -}}
{{- define "supersonic.scaling.seesEnvoy" -}}
{{- if or .Values.envoy.enabled .Values.serverLoadSelector.envoy }}true{{ end -}}
{{- end -}}

{{- /* "true" unless the server is told to count no durations. */ -}}
{{- define "supersonic.scaling.durationsOn" -}}
{{- if not (regexMatch "counter_latencies\\s*=\\s*false" (join " " .Values.triton.args)) }}true{{ end -}}
{{- end -}}

{{- /* "true" where the metric has a reader: KEDA or the gate. */ -}}
{{- define "supersonic.scaling.isRead" -}}
{{- if or .Values.keda.enabled (and .Values.envoy.enabled .Values.envoy.rate_limiter.prometheus_based.enabled) }}true{{ end -}}
{{- end -}}

{{- /* Parameters of the generated queries, as JSON. */ -}}
{{- define "supersonic.scaling.params" -}}
{{- dict "envoySelector" (include "supersonic.scaling.matchers" (list . "envoy"))
  "tritonSelector" (include "supersonic.scaling.matchers" (list . "triton"))
  "rateInterval" .Values.serverLoadRateInterval
  "replicas" .Values.serverLoadReplicas
  "inFlight" .Values.serverLoadInFlight
  "excludeModels" (.Values.serverLoadExcludeModels | default list) | toJson -}}
{{- end -}}

{{- /* For KEDA, with metricType AverageValue: replicas that the work in flight needs. */ -}}
{{- define "supersonic.scaling.neededReplicas" -}}
{{- if include "supersonic.scaling.builtIn" . -}}
{{- include "supersonic.promql.neededReplicas" (include "supersonic.scaling.params" . | fromJson) -}}
{{- else -}}
{{- .Values.serverLoadMetric -}}
{{- end -}}
{{- end -}}

{{- /* For the gate: load of a replica. */ -}}
{{- define "supersonic.scaling.occupancyRatio" -}}
{{- if include "supersonic.scaling.builtIn" . -}}
{{- include "supersonic.promql.occupancyRatio" (include "supersonic.scaling.params" . | fromJson) -}}
{{- else -}}
{{- .Values.serverLoadMetric -}}
{{- end -}}
{{- end -}}

{{- /* For KEDA's second trigger: calls that found no server, a second. */ -}}
{{- define "supersonic.scaling.wakeUp" -}}
{{- include "supersonic.promql.wakeUp" (include "supersonic.scaling.params" . | fromJson) -}}
{{- end -}}

{{- /* What KEDA divides the metric by. */ -}}
{{- define "supersonic.scaling.scalingThreshold" -}}
{{- .Values.serverLoadThreshold | toJson -}}
{{- end -}}

{{- /* Load above which the gate refuses: above the scaling threshold by default, so that a fleet at rest refuses nobody. */ -}}
{{- define "supersonic.scaling.admissionThreshold" -}}
{{- if not (kindIs "invalid" .Values.serverAdmissionThreshold) -}}
{{- .Values.serverAdmissionThreshold | toJson -}}
{{- else if include "supersonic.scaling.builtIn" . -}}
{{- maxf 3 (mulf 1.5 .Values.serverLoadThreshold) | toJson -}}
{{- else -}}
{{- .Values.serverLoadThreshold | toJson -}}
{{- end -}}
{{- end -}}
