{{- /*
Who may reach which pods if networkPolicy.enabled is true. A peer is one of:
  envoy, triton, …   the release's own pods of that component
  others   the pods of prometheus.server.otherReleases
  clients, scrapers, keda, viewers   the list in networkPolicy; for clients and viewers, empty means anyone
A flow between two of the release's components is allowed by the policies of both:
"supersonic.network.egress" reads the flows the other way round. The kubelet, which
probes pods from their own node, is never blocked.
*/ -}}

{{- /* Ports and peers by component, as YAML. Ports are those of the container. */ -}}
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
  - {ports: [9090], peers: [keda, envoy, grafana, tempo, opentelemetry-collector, metrics-collector, others]}
  {{- if or .Values.prometheus.server.ingress.enabled (ne .Values.prometheus.server.service.type "ClusterIP") }}
  - {ports: [9090], peers: [viewers]}
  {{- end }}
{{- end }}
{{- if include "supersonic.network.runs" (list . "grafana") }}
grafana:
  - {ports: [3000], peers: [viewers]}
{{- end }}
{{- if include "supersonic.network.runs" (list . "tempo") }}
{{- $otlp := .Values.tempo.tempo.receivers.otlp.protocols }}
{{- $senders := list "opentelemetry-collector" }}
{{- range $component, $addresses := include "supersonic.network.addresses" . | fromJson }}
{{- range $addresses }}
{{- if include "supersonic.network.ofRelease" (list $ . "tempo") }}{{ $senders = append $senders $component | uniq }}{{ end }}
{{- end }}
{{- end }}
tempo:
  - ports: [{{ include "supersonic.tempo.port" $otlp.grpc.endpoint }}, {{ include "supersonic.tempo.port" $otlp.http.endpoint }}]
    peers: {{ toJson $senders }}
  - {ports: [3100], peers: [grafana, prometheus, scrapers]}
{{- end }}
{{- if include "supersonic.network.runs" (list . "opentelemetry-collector") }}
opentelemetry-collector:
  - {ports: [4317, 4318], peers: [envoy, triton]}
  - {ports: [8888], peers: [prometheus, scrapers]}
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

{{- /* The pods of a component of the release, as a peer in JSON. Takes a list: the root context, the component. */ -}}
{{- define "supersonic.network.pods" -}}
{{- dict "podSelector" (dict "matchLabels" (include "supersonic.labels.selector" . | fromYaml)) | toJson -}}
{{- end -}}

{{- /* The pods of the releases that share the embedded Prometheus, as a list of peers in JSON. */ -}}
{{- define "supersonic.network.otherReleases" -}}
{{- $peers := list -}}
{{- with .Values.prometheus.server.otherReleases -}}
{{- $selector := dict "matchLabels" (dict "app.kubernetes.io/name" $.Chart.Name) -}}
{{- if not (has "*" .) -}}
{{- $_ := set $selector "matchExpressions" (list (dict "key" "app.kubernetes.io/instance" "operator" "In" "values" .)) -}}
{{- end -}}
{{- $peers = append $peers (dict "podSelector" $selector) -}}
{{- end -}}
{{- toJson $peers -}}
{{- end -}}

{{- /* Ports as JSON. Takes a list: the protocol, port numbers. */ -}}
{{- define "supersonic.network.ports" -}}
{{- $ports := list -}}
{{- range last . }}{{ $ports = append $ports (dict "port" . "protocol" (first $)) }}{{ end -}}
{{- toJson $ports -}}
{{- end -}}

{{- /* One ingress rule, as JSON. Takes a list: the root context, ports, peers. */ -}}
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
{{- $from = concat $from (include "supersonic.network.otherReleases" $root | fromJsonArray) -}}
{{- else -}}
{{- $from = append $from (include "supersonic.network.pods" (list $root .) | fromJson) -}}
{{- end -}}
{{- end -}}
{{- $rule := dict "ports" (include "supersonic.network.ports" (list "TCP" (index . 1)) | fromJsonArray) -}}
{{- if not $anyone }}{{ $_ := set $rule "from" $from }}{{ end -}}
{{- toJson $rule -}}
{{- end -}}
