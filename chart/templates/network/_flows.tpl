{{- /*
Who may reach which pods if networkPolicy.enabled is true. A peer is one of:
  envoy, triton, …   the release's own pods of that component
  others   the pods of prometheus.server.otherReleases
  clients, scrapers, keda, viewers   the list in networkPolicy; for clients and viewers, empty means anyone
The kubelet, which probes pods from their own node, is never blocked.
*/ -}}

{{- /* Ports and peers by component, as YAML. */ -}}
{{- define "supersonic.network.flows" -}}
{{- $envoy := .Values.envoy.enabled -}}
triton:
  - {ports: [{{ include "supersonic.triton.port" (list . "grpc") }}], peers: [{{ ternary "envoy" "clients" $envoy }}, test]}
  - {ports: [{{ include "supersonic.triton.port" (list . "metrics") }}], peers: [prometheus, scrapers]}
{{- if $envoy }}
envoy:
  - {ports: [{{ include "supersonic.envoy.grpcTargetPort" . }}], peers: [clients, test]}
  - {ports: [{{ include "supersonic.envoy.statsPort" . }}], peers: [prometheus, scrapers]}
{{- end }}
{{- if include "supersonic.prometheus.embedded" . }}
prometheus:
  - {ports: [http], peers: [keda, envoy, grafana, tempo, opentelemetry-collector, metrics-collector, others]}
  {{- if or .Values.prometheus.server.ingress.enabled (ne .Values.prometheus.server.service.type "ClusterIP") }}
  - {ports: [http], peers: [viewers]}
  {{- end }}
{{- end }}
{{- if include "supersonic.network.runs" (list . "grafana") }}
grafana:
  - {ports: [http], peers: [viewers]}
{{- end }}
{{- if include "supersonic.network.runs" (list . "tempo") }}
tempo:
  - {ports: [otlp-grpc, otlp-http], peers: [opentelemetry-collector]}
  - {ports: [http], peers: [grafana, prometheus, scrapers]}
{{- end }}
{{- if include "supersonic.network.runs" (list . "opentelemetry-collector") }}
opentelemetry-collector:
  - {ports: [otlp-grpc, otlp-http], peers: [envoy, triton]}
  - {ports: [metrics], peers: [prometheus, scrapers]}
{{- end }}
{{- if include "supersonic.network.runs" (list . "metricsCollector") }}
metrics-collector:
  - {ports: [{{ int64 .Values.metricsCollector.port }}], peers: [viewers]}
{{- end }}
{{- end -}}

{{- /* "true" if a part runs. Takes a list: the root context, the part's key in the values. */ -}}
{{- define "supersonic.network.runs" -}}
{{- if get (get (first .).Values (last .) | default dict) "enabled" }}true{{ end -}}
{{- end -}}

{{- /* One rule, as JSON. Takes a list: the root context, ports, peers. */ -}}
{{- define "supersonic.network.rule" -}}
{{- $root := first . -}}
{{- $policy := $root.Values.networkPolicy -}}
{{- $from := list -}}
{{- $anyone := false -}}
{{- range last . -}}
{{- if has . (list "clients" "viewers" "scrapers" "keda") -}}
{{- $from = concat $from (get $policy . | default list) -}}
{{- if and (has . (list "clients" "viewers")) (not (get $policy .)) }}{{ $anyone = true }}{{ end -}}
{{- else if eq . "others" -}}
{{- with $root.Values.prometheus.server.otherReleases -}}
{{- $selector := dict "matchLabels" (dict "app.kubernetes.io/name" $root.Chart.Name) -}}
{{- if not (has "*" .) -}}
{{- $_ := set $selector "matchExpressions" (list (dict "key" "app.kubernetes.io/instance" "operator" "In" "values" .)) -}}
{{- end -}}
{{- $from = append $from (dict "podSelector" $selector) -}}
{{- end -}}
{{- else -}}
{{- $labels := include "supersonic.labels.selector" (list $root .) | fromYaml -}}
{{- $from = append $from (dict "podSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{- end -}}
{{- $ports := list -}}
{{- range index . 1 }}{{ $ports = append $ports (dict "port" . "protocol" "TCP") }}{{ end -}}
{{- $rule := dict "ports" $ports -}}
{{- if not $anyone }}{{ $_ := set $rule "from" $from }}{{ end -}}
{{- toJson $rule -}}
{{- end -}}
