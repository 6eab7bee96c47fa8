{{- /* Errors and warnings of the keys serverLoad… and serverAdmissionThreshold, one per line. */ -}}
{{- define "supersonic.scaling.errors" -}}
{{- $gate := and .Values.envoy.enabled .Values.envoy.rate_limiter.prometheus_based.enabled -}}
{{- if and .Values.serverLoadMetric (not (trim .Values.serverLoadMetric)) }}
serverLoadMetric: must be a PromQL query, or empty for the built-in metric, got {{ quote .Values.serverLoadMetric }}
{{- end }}
{{- range $key := list "envoy" "triton" }}
{{- include "supersonic.scaling.matcherErrors" (list $key (get $.Values.serverLoadSelector $key | default "")) }}
{{- end }}
{{- if include "supersonic.scaling.builtIn" . }}
{{- include "supersonic.scaling.builtInErrors" . }}
{{- if and .Values.keda.enabled (include "supersonic.scaling.looksLikeMilliseconds" .) }}
serverLoadThreshold: must be below 10 with the built-in metric, which is no longer in milliseconds, got {{ include "supersonic.scaling.scalingThreshold" . }}: requests would take {{ include "supersonic.scaling.scalingThreshold" . }} times their service time before the fleet grows; drop the key to use the default, 2, or set keda.metricType to AverageValue to keep {{ include "supersonic.scaling.scalingThreshold" . }}
{{- end }}
{{- if and $gate (not (kindIs "invalid" .Values.serverAdmissionThreshold)) }}
{{- if le (float64 .Values.serverAdmissionThreshold) (float64 .Values.serverLoadThreshold) }}
serverAdmissionThreshold: must be above serverLoadThreshold ({{ toJson .Values.serverLoadThreshold }}), otherwise the gate refuses clients in normal operation, got {{ toJson .Values.serverAdmissionThreshold }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* "true" if the threshold is one of 0.3.1's metric, unless the values name the type of the new one. */ -}}
{{- define "supersonic.scaling.looksLikeMilliseconds" -}}
{{- $insists := eq (.Values.keda.metricType | default "") "AverageValue" -}}
{{- if and (include "supersonic.scaling.builtIn" .) (ge (float64 .Values.serverLoadThreshold) 10.0) (not $insists) }}true{{ end -}}
{{- end -}}

{{- /* A Prometheus duration in milliseconds. */ -}}
{{- define "supersonic.scaling.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 "w" 604800000 "y" 31536000000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|[smhdwy])" . -1 -}}
{{- $sum = add $sum (mul (regexFind "[0-9]+" . | int64) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{- define "supersonic.scaling.builtInErrors" -}}
{{- $window := include "supersonic.scaling.milliseconds" .Values.serverLoadRateInterval | int64 -}}
{{- $scrape := include "supersonic.prometheus.scrapeInterval" . -}}
{{- if not $window }}
serverLoadRateInterval: must be longer than 0, got {{ .Values.serverLoadRateInterval }}
{{- else if lt $window (mul 2 (include "supersonic.scaling.milliseconds" $scrape)) }}
serverLoadRateInterval: must be at least 2 scrape intervals of {{ $scrape }}, otherwise the queries have no answer, got {{ .Values.serverLoadRateInterval }}
{{- end }}
{{- if gt (include "supersonic.scaling.milliseconds" .Values.serverLoadThinkTime | int64) 86400000 }}
serverLoadThinkTime: must be from 0s to 1d, got {{ .Values.serverLoadThinkTime }}
{{- end }}
{{- if include "supersonic.scaling.isRead" . }}
{{- if not (include "supersonic.scaling.seesEnvoy" .) }}
envoy.enabled: must be true for the built-in metric, which counts the requests in Envoy; alternatively, set serverLoadMetric, or serverLoadSelector.envoy for your own Envoy
{{- end }}
{{- if not (include "supersonic.scaling.durationsOn" .) }}
triton.args: must not turn counter_latencies off for the built-in metric, which needs these counters
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a list: envoy or triton, the matchers. */ -}}
{{- define "supersonic.scaling.matcherErrors" -}}
{{- $text := last . | trim -}}
{{- $value := "(\"([^\"\\\\\\n]|\\\\.)*\"|'([^'\\\\\\n]|\\\\.)*'|`[^`]*`)" -}}
{{- $matcher := printf "[a-zA-Z_][a-zA-Z0-9_]*\\s*(=~|!~|!=|=)\\s*%s" $value -}}
{{- $matchers := printf "(%s\\s*(,\\s*%s\\s*)*,?)?" $matcher $matcher -}}
{{- if not (regexMatch (printf "^(%s|\\{\\s*%s\\s*\\})$" $matchers $matchers) $text) }}
serverLoadSelector.{{ first . }}: must be label matchers such as release="sonic",namespace="cms", got {{ quote $text }}
{{- else }}
{{- range $label := list "__name__" "envoy_cluster_name" }}
{{- if regexMatch (printf "(^|[{,\\s])%s\\s*[=!]" $label) $text }}
serverLoadSelector.{{ first $ }}: must not match {{ $label }}, which the queries set, got {{ quote $text }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.scaling.warnings" -}}
{{- if and (not .Values.keda.enabled) (include "supersonic.scaling.looksLikeMilliseconds" .) }}
serverLoadThreshold: is no longer in milliseconds: {{ include "supersonic.scaling.scalingThreshold" . }} lets requests take {{ include "supersonic.scaling.scalingThreshold" . }} times their service time; drop the key to use the default, 2
{{- end }}
{{- if include "supersonic.scaling.isRead" . }}
{{- if include "supersonic.scaling.builtIn" . }}
{{- include "supersonic.scaling.builtInWarnings" . }}
{{- else if and .Values.keda.enabled .Values.envoy.enabled .Values.envoy.rate_limiter.prometheus_based.enabled }}
{{- if le (include "supersonic.scaling.admissionThreshold" . | float64) (float64 .Values.serverLoadThreshold) }}
serverAdmissionThreshold: the gate refuses clients at the load at which the fleet starts to grow; with a value above serverLoadThreshold ({{ include "supersonic.scaling.scalingThreshold" . }}), the fleet grows first
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.scaling.builtInWarnings" -}}
{{- if eq .Values.serverLoadThinkTime "measured" }}
{{- if and .Values.envoy.enabled .Values.envoy.ingress.enabled }}
serverLoadThinkTime: measured counts connections to Envoy, and an Ingress sends the requests of many clients over few of them, so that its clients are read as clients that only wait; set their think time, such as 1s
{{- end }}
{{- if or (not .Values.envoy.enabled) (include "supersonic.envoy.external" .) }}
serverLoadThinkTime: measured reads the connections of the listener that has stat_prefix clients, which an Envoy configuration of your own must set
{{- end }}
{{- end }}
{{- $window := include "supersonic.scaling.milliseconds" .Values.serverLoadRateInterval | int64 -}}
{{- $scrape := include "supersonic.prometheus.scrapeInterval" . -}}
{{- if not $scrape }}
prometheus.external.scrapeInterval: is not set, so serverLoadRateInterval ({{ .Values.serverLoadRateInterval }}) cannot be checked: it should be at least 4 scrape intervals
{{- else if lt $window (mul 4 (include "supersonic.scaling.milliseconds" $scrape)) }}
serverLoadRateInterval: should be at least 4 scrape intervals of {{ $scrape }}, or the metric is noisy, got {{ .Values.serverLoadRateInterval }}
{{- end }}
{{- if lt $window 30000 }}
serverLoadRateInterval: should be at least 30s, or the metric moves in steps, because Envoy updates its counters every 5s, got {{ .Values.serverLoadRateInterval }}
{{- end }}
{{- end -}}
