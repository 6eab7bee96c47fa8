{{- /*
Scaling and admission settings, read from the values only here. A query is the
custom serverLoadMetric, verbatim and never as a template, or the built-in one.
Numbers are formatted so that every consumer can read them: toJson writes 1000000
where a template would write 1e+06.
*/ -}}

{{- /* "true" with the built-in metric, otherwise empty. */ -}}
{{- define "supersonic.scaling.builtIn" -}}
{{- if not .Values.serverLoadMetric }}true{{ end -}}
{{- end -}}

{{- /* Label matchers that select this release. */ -}}
{{- define "supersonic.scaling.releaseMatchers" -}}
namespace={{ .Release.Namespace | quote }},release={{ include "supersonic.names.instance" . | quote }}
{{- end -}}

{{- /* Label matchers without braces. Takes a list: the root context, envoy or triton. */ -}}
{{- define "supersonic.scaling.matchers" -}}
{{- $own := get (first .).Values.serverLoadSelector (last .) | default "" | trim -}}
{{- $own = $own | trimPrefix "{" | trimSuffix "}" | trim -}}
{{- $own | default (include "supersonic.scaling.releaseMatchers" (first .)) -}}
{{- end -}}

{{- /* "true" if there is an Envoy to read: this release's, or the one that the matchers select. */ -}}
{{- define "supersonic.scaling.seesEnvoy" -}}
{{- if or .Values.envoy.enabled .Values.serverLoadSelector.envoy }}true{{ end -}}
{{- end -}}

{{- /* "true" unless Triton is told not to count durations. */ -}}
{{- define "supersonic.scaling.durationsOn" -}}
{{- if not (regexMatch "counter_latencies\\s*=\\s*false" (join " " .Values.triton.args)) }}true{{ end -}}
{{- end -}}

{{- /* "true" if KEDA or the gate uses the metric. */ -}}
{{- define "supersonic.scaling.isRead" -}}
{{- if or .Values.keda.enabled (and .Values.envoy.enabled .Values.envoy.rate_limiter.prometheus_based.enabled) }}true{{ end -}}
{{- end -}}

{{- /* none, given or measured. */ -}}
{{- define "supersonic.scaling.thinkTime" -}}
{{- if eq .Values.serverLoadThinkTime "measured" -}}
measured
{{- else if include "supersonic.scaling.milliseconds" .Values.serverLoadThinkTime | int64 -}}
given
{{- else -}}
none
{{- end -}}
{{- end -}}

{{- /* Parameters of the generated queries, as JSON. */ -}}
{{- define "supersonic.scaling.params" -}}
{{- $thinking := include "supersonic.scaling.thinkTime" . -}}
{{- dict "envoySelector" (include "supersonic.scaling.matchers" (list . "envoy"))
  "tritonSelector" (include "supersonic.scaling.matchers" (list . "triton"))
  "rateInterval" .Values.serverLoadRateInterval
  "quarterInterval" (printf "%dms" (div (include "supersonic.scaling.milliseconds" .Values.serverLoadRateInterval | int64) 4))
  "replicas" .Values.serverLoadReplicas
  "inFlight" (ternary "active" .Values.serverLoadInFlight (eq $thinking "measured"))
  "thinkTime" $thinking
  "thinkSeconds" (divf (include "supersonic.scaling.milliseconds" .Values.serverLoadThinkTime | int64) 1000)
  "utilization" .Values.serverLoadUtilization
  "threshold" (include "supersonic.scaling.scalingThreshold" .)
  "excludeModels" (.Values.serverLoadExcludeModels | default list) | toJson -}}
{{- end -}}

{{- /* For KEDA, with metricType AverageValue: replicas that the requests in flight need. */ -}}
{{- define "supersonic.scaling.neededReplicas" -}}
{{- if include "supersonic.scaling.builtIn" . -}}
{{- include "supersonic.promql.neededReplicas" (include "supersonic.scaling.params" . | fromJson) -}}
{{- else -}}
{{- .Values.serverLoadMetric -}}
{{- end -}}
{{- end -}}

{{- /* For the gate: the load per replica. */ -}}
{{- define "supersonic.scaling.occupancyRatio" -}}
{{- if include "supersonic.scaling.builtIn" . -}}
{{- include "supersonic.promql.occupancyRatio" (include "supersonic.scaling.params" . | fromJson) -}}
{{- else -}}
{{- .Values.serverLoadMetric -}}
{{- end -}}
{{- end -}}

{{- /* For KEDA's second trigger: calls per second that found no replica. */ -}}
{{- define "supersonic.scaling.wakeUp" -}}
{{- include "supersonic.promql.wakeUp" (include "supersonic.scaling.params" . | fromJson) -}}
{{- end -}}

{{- /* What KEDA divides the metric by. */ -}}
{{- define "supersonic.scaling.scalingThreshold" -}}
{{- .Values.serverLoadThreshold | toJson -}}
{{- end -}}

{{- /*
The load above which the gate refuses: above the scaling threshold by default, so that
no client is refused in normal operation.
*/ -}}
{{- define "supersonic.scaling.admissionThreshold" -}}
{{- if not (kindIs "invalid" .Values.serverAdmissionThreshold) -}}
{{- .Values.serverAdmissionThreshold | toJson -}}
{{- else if include "supersonic.scaling.builtIn" . -}}
{{- maxf 3 (mulf 1.5 .Values.serverLoadThreshold) | toJson -}}
{{- else -}}
{{- .Values.serverLoadThreshold | toJson -}}
{{- end -}}
{{- end -}}
