{{- /*
Takes a dict: root, name, expr, for, severity, summary, description (what to do; a
string in which Prometheus expands templates).
*/ -}}
{{- define "supersonic.prometheus.alert" -}}
- alert: {{ .name }}
  expr: |
    {{- .expr | trim | nindent 4 }}
  for: {{ .for }}
  labels:
    severity: {{ .severity }}
    release: {{ include "supersonic.names.instance" .root | quote }}
    namespace: {{ quote .root.Release.Namespace }}
    {{- with .root.Values.prometheus.rules.alertLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    summary: {{ quote .summary }}
    description: {{ quote .description }}
{{- end -}}

{{- define "supersonic.prometheus.alerts" -}}
{{- if include "supersonic.prometheus.seesEnvoys" . }}
{{- include "supersonic.prometheus.sourceAlerts" . }}
{{- include "supersonic.prometheus.callAlerts" . }}
{{- if include "supersonic.scaling.builtIn" . }}
{{- include "supersonic.prometheus.signalAlerts" . }}
{{- if .Values.keda.enabled }}
{{- include "supersonic.prometheus.sizeAlerts" . }}
{{- end }}
{{- end }}
{{- end }}
{{- include "supersonic.prometheus.replicaAlerts" . }}
{{- if .Values.envoy.rate_limiter.prometheus_based.enabled }}
{{- include "supersonic.prometheus.gateAlerts" . }}
{{- end }}
{{- end -}}

{{- /* "true" if there are Envoys to scrape: this release's, or those that the matchers select. */ -}}
{{- define "supersonic.prometheus.seesEnvoys" -}}
{{- $some := or .Values.serverLoadSelector.envoy (ne (include "supersonic.pods.replicas" .Values.envoy) "0") -}}
{{- if and $some (include "supersonic.scaling.seesEnvoy" .) }}true{{ end -}}
{{- end -}}

{{- /* Twice the startup budget, at least 10 minutes. */ -}}
{{- define "supersonic.prometheus.startupPatience" -}}
{{- max 600 (mul 2 (include "supersonic.triton.startupBudget" . | int64)) }}s
{{- end -}}

{{- /* The series of the queries are missing, or scraped too rarely. */ -}}
{{- define "supersonic.prometheus.sourceAlerts" -}}
{{- $params := include "supersonic.scaling.params" . | fromJson -}}
{{- $recorded := include "supersonic.prometheus.recorded" . }}
{{- $builtIn := include "supersonic.scaling.builtIn" . | not | not }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicEnvoyNotScraped" "for" "2m" "severity" "critical"
  "expr" (printf "absent(supersonic:healthy_replicas{%s})" $recorded)
  "summary" (printf "Envoy is not scraped: %s" (ternary "the load is unknown" "queries on it have no answer" $builtIn))
  "description" (printf "%s Check the Envoy targets in Prometheus, and whether the Envoy pods are running." (ternary
    "Neither query has an answer, so KEDA keeps the size of the fleet and the gate follows unknownLoad."
    (cat "serverLoadMetric still scales the fleet if it does not read Envoy;"
      "the wake-up from zero replicas, the other alerts and the dashboards have no data.")
    $builtIn))) }}
{{- if include "supersonic.scaling.durationsOn" . }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicTritonNotScraped" "for" "5m" "severity" "warning"
  "expr" (printf "supersonic:healthy_replicas{%s} > 0\nunless\nsupersonic:triton_series{%s}" $recorded $recorded)
  "summary" "Replicas are running but report no durations: the serving time is missing"
  "description" (printf (cat "{{ printf `%%.3g` $value }} replicas are healthy, but no model reports its request time%s."
      "Check the Triton targets in Prometheus;"
      "a replica started with counter_latencies=false, or with no model loaded, reports none.")
    (ternary ", so every request in flight counts as a replica" "" $builtIn))) }}
{{- end }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicRequestTimeMissing" "for" "2m" "severity" "critical"
  "expr" (printf "supersonic:healthy_replicas{%s}\nunless\nsupersonic:in_flight_requests{%s}" $recorded $recorded)
  "summary" (printf "Envoy's request time is missing: %s" (ternary "the load is unknown" "the requests in flight are unknown" $builtIn))
  "description" (printf (cat "Envoy answers requests and Prometheus has no envoy_cluster_upstream_rq_time_sum,"
      "nor a native histogram envoy_cluster_upstream_rq_time%s."
      "Look at relabelling that drops histograms, and at stats_config of an Envoy configuration of your own.")
    (ternary ", so KEDA keeps the number of replicas and the gate follows its choice for an unknown load" "" $builtIn))) }}
{{- if include "supersonic.scaling.durationsOn" . }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicDurationsMissing" "for" "2m" "severity" "critical"
  "expr" (printf "supersonic:healthy_replicas{%s}\nunless\nsupersonic:serving_requests{%s}" $recorded $recorded)
  "summary" (printf "Triton's durations are missing: %s" (ternary "the load is unknown" "the requests being served are unknown" $builtIn))
  "description" (printf (cat "Triton counts requests and Prometheus has no nv_inference_request_duration_us"
      "or no nv_inference_queue_duration_us for them%s."
      "Look at relabelling that drops them, and at --metrics-config counter_latencies=false.")
    (ternary ", so KEDA keeps the number of replicas and the gate follows its choice for an unknown load" "" $builtIn))) }}
{{- end }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicWindowTooShort" "for" "5m" "severity" "warning"
  "expr" (printf "max(count_over_time(up{%s}[%s])) < 4" $params.envoySelector $params.rateInterval)
  "summary" "The rate interval spans fewer than 4 scrapes"
  "description" (printf (cat "%s spans {{ printf `%%.3g` $value }} scrapes of Envoy:"
      "the load is noisy with fewer than 4, and unknown with fewer than 2."
      "Raise serverLoadRateInterval to 4 scrape intervals, or scrape more often.")
    $params.rateInterval)) }}
{{- end -}}

{{- /* The series of the built-in metric understate the load. */ -}}
{{- define "supersonic.prometheus.signalAlerts" -}}
{{- $recorded := include "supersonic.prometheus.recorded" . }}
{{- if include "supersonic.scaling.durationsOn" . }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicDecoupledBackEnd" "for" "10m" "severity" "warning"
  "expr" (printf `supersonic:in_flight_requests{%[1]s} > 1
and
supersonic:serving_requests{%[1]s} / supersonic:in_flight_requests{%[1]s} < 0.05` $recorded)
  "summary" "Requests are in flight but hardly any serving time is reported"
  "description" (cat "{{ printf `%.3g` $value }} requests are in flight, and fewer than 5 % of them are being served."
    "Decoupled back ends look like this, because their durations end when they take a request over:"
    "every request in flight counts as a replica. Set serverLoadMetric to a metric for this back end.")) }}
{{- end }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicRequestsTooShort" "for" "10m" "severity" "warning"
  "expr" (printf `supersonic:requests:rate{%[1]s} > 10
and
supersonic:in_flight_requests{%[1]s} / supersonic:requests:rate{%[1]s} < 0.001` $recorded)
  "summary" "Requests are too short for Envoy's clock"
  "description" (cat "{{ printf `%.3g` $value }} requests per second take less than 1 ms each."
    "Envoy counts whole milliseconds, so the fleet looks idle under any traffic."
    "Set keda.minReplicaCount to what the traffic needs, or set a custom serverLoadMetric.")) }}
{{- end -}}

{{- /*
Calls that find no replica, or get no answer from one. Envoy's 5xx counters count a
call once, however often it was retried; they include calls that found no replica,
which wake a fleet at zero replicas.
*/ -}}
{{- define "supersonic.prometheus.callAlerts" -}}
{{- $params := include "supersonic.scaling.params" . | fromJson -}}
{{- $triton := printf "envoy_cluster_name=\"triton_grpc_service\",%s" $params.envoySelector -}}
{{- $recorded := include "supersonic.prometheus.recorded" . -}}
{{- $patience := include "supersonic.prometheus.startupPatience" . }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicCallsFail" "for" "5m" "severity" "warning"
  "expr" (printf `(
  sum(rate(envoy_cluster_upstream_rq_xx{envoy_response_code_class="5",%[1]s}[5m]))
-
  sum(rate(envoy_cluster_upstream_cx_none_healthy{%[1]s}[5m]))
)
/
sum(rate(envoy_cluster_upstream_rq_completed{%[1]s}[5m]))
> 0.05` $triton)
  "summary" "More than 5 % of the calls fail between Envoy and Triton"
  "description" (cat "{{ $value | humanizePercentage }} of the calls in the last 5 minutes got no answer from Triton:"
    "they hit their deadline, envoy.grpc_route_timeout or a full circuit breaker, or their replica refused them or died."
    "The counters envoy_cluster_upstream_rq_timeout, _rq_active_overflow, _rq_pending_overflow, _rq_pending_failure_eject"
    "and _rq_rx_reset tell which. Calls that found no replica are not included.")) }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicWakingSlowly" "for" $patience "severity" "critical"
  "expr" (printf "supersonic:calls_without_replica:rate{%s} > 0\nand\nsupersonic:healthy_replicas{%s} == 0" $recorded $recorded)
  "summary" "Calls find no replica, and none becomes ready"
  "description" (cat "{{ printf `%.3g` $value }} calls per second have found no replica for longer than twice the startup budget."
    "Check whether the Triton pods can be scheduled, pull their image and load their models,"
    "and whether KEDA's ScaledObject is ready.")) }}
{{- end -}}

{{- /* What Triton and Kubernetes report about the replicas. */ -}}
{{- define "supersonic.prometheus.replicaAlerts" -}}
{{- $params := include "supersonic.scaling.params" . | fromJson -}}
{{- $pods := printf "%s-.+" (include "supersonic.names.component" (list . "triton")) }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicRequestsFail" "for" "5m" "severity" "warning"
  "expr" (printf `sum(rate(nv_inference_request_failure{%[1]s}[5m]))
/
(sum(rate(nv_inference_request_success{%[1]s}[5m])) + sum(rate(nv_inference_request_failure{%[1]s}[5m])))
> 0.05` $params.tritonSelector)
  "summary" "More than 5 % of the requests fail in Triton"
  "description" (cat "{{ $value | humanizePercentage }} of the requests in the last 5 minutes failed."
    "nv_inference_request_failure shows the models and reasons; failed requests do not count as serving time.")) }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicPodsUnschedulable" "for" "5m" "severity" "warning"
  "expr" (printf "sum(kube_pod_status_unschedulable{namespace=%s,pod=~%s}) > 0" (quote .Release.Namespace) (quote $pods))
  "summary" "Triton pods cannot be scheduled"
  "description" (cat "{{ printf `%.3g` $value }} Triton pods cannot be scheduled. kubectl describe pod says what they lack:"
    "GPUs, memory, or a node whose taints they tolerate. This alert needs kube-state-metrics.")) }}
{{- end -}}

{{- /* The fleet is not the size that the load needs. The HPA ignores differences within 10 %. */ -}}
{{- define "supersonic.prometheus.sizeAlerts" -}}
{{- $recorded := include "supersonic.prometheus.recorded" . }}
{{- $threshold := include "supersonic.scaling.scalingThreshold" . }}
{{- $least := ternary 0 (int .Values.keda.minReplicaCount) (include "supersonic.keda.zero" . | not | not) }}
{{- $most := int .Values.keda.maxReplicaCount -}}
{{- $patience := include "supersonic.prometheus.startupPatience" . }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicFleetAtMaximum" "for" "10m" "severity" "warning"
  "expr" (printf `supersonic:occupancy_ratio{%[1]s} > %[2]s
and
supersonic:healthy_replicas{%[1]s} >= %[3]d` $recorded $threshold $most)
  "summary" "The fleet is at its maximum but the load needs more"
  "description" (printf (cat "The occupancy ratio is {{ printf `%%.3g` $value }}, above %s, with keda.maxReplicaCount (%d) replicas."
      "Raise the maximum, reduce the load, or refuse new clients with envoy.rate_limiter.prometheus_based.")
    $threshold $most)) }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicFleetTooSmall" "for" $patience "severity" "warning"
  "expr" (printf `clamp(ceil(supersonic:needed_replicas{%[1]s} / %[2]s / 1.1), %[3]d, %[4]d)
> on (release, namespace)
supersonic:healthy_replicas{%[1]s}` $recorded $threshold $least $most)
  "summary" "Replicas that the load needs do not become ready"
  "description" (cat "The load needs at least {{ printf `%.3g` $value }} replicas,"
    "but fewer have been ready for longer than twice the startup budget."
    "Check whether the Triton pods can be scheduled (free GPUs, quota, taints), pull their image and load their models.")) }}
{{- end -}}

{{- define "supersonic.prometheus.gateAlerts" -}}
{{- $params := include "supersonic.scaling.params" . | fromJson }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicGateRefusing" "for" "5m" "severity" "warning"
  "expr" (printf "sum(rate(envoy_http_lua_gate_outcome{outcome=\"refused\",%s}[5m])) > 0" $params.envoySelector)
  "summary" "The gate refuses clients"
  "description" (cat "{{ printf `%.3g` $value }} calls per second are refused, because the load is above the admission threshold."
    "This is expected while the fleet grows;"
    "if it persists, the fleet is at its maximum or its replicas do not become ready.")) }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicGateBlind" "for" "5m" "severity" "warning"
  "expr" (printf "sum(rate(envoy_http_lua_gate_outcome{outcome=~\"(unknown|fault)_.+\",%s}[5m])) > 0" $params.envoySelector)
  "summary" "The load is unknown to the gate"
  "description" (cat "{{ printf `%.3g` $value }} calls per second are decided by envoy.rate_limiter.prometheus_based.unknownLoad."
    "envoy_http_lua_gate_answer shows what Prometheus answers:"
    "check its address, its credentials and whether the query has an answer.")) }}
{{ include "supersonic.prometheus.alert" (dict "root" . "name" "SupersonicGateNotRunning" "for" "5m" "severity" "warning"
  "expr" (printf "count(envoy_server_live{%[1]s} unless on (instance, pod) envoy_http_lua_gate_outcome{%[1]s}) > 0"
    $params.envoySelector)
  "summary" "The gate does not run"
  "description" (cat "{{ printf `%.3g` $value }} Envoys report no gate, so that envoy.rate_limiter.prometheus_based.unknownLoad"
    "decides about their calls. It needs Envoy 1.40 or later: check the version in envoy.image, and the log of Envoy.")) }}
{{- end -}}
