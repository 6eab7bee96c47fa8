{{- /*
What the pods of a component may reach, as egress rules in YAML: DNS, the components
that the flows name it as a peer of, what is outside the release by value, and the
user's own rules. Takes a list: the root context, the component, the flows.
*/ -}}
{{- define "supersonic.network.egress" -}}
{{- $root := first . -}}
{{- $component := index . 1 -}}
{{- $egress := $root.Values.networkPolicy.egress -}}
{{- $rules := list (include "supersonic.network.dns" $egress | fromJson) -}}
{{- range $target, $flows := last . -}}
{{- range $flows -}}
{{- if has $component .peers -}}
{{- $to := list (include "supersonic.network.pods" (list $root $target) | fromJson) -}}
{{- $rules = append $rules (dict "to" $to "ports" (include "supersonic.network.ports" (list "TCP" .ports) | fromJsonArray)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq $component "prometheus" -}}
{{- with include "supersonic.network.otherReleases" $root | fromJsonArray }}{{ $rules = append $rules (dict "to" .) }}{{ end -}}
{{- $api := dict "to" $egress.kubernetesAPI -}}
{{- if not $egress.kubernetesAPI -}}
{{- $api = dict "ports" (include "supersonic.network.ports" (list "TCP" (list 443 6443)) | fromJsonArray) -}}
{{- end -}}
{{- $rules = append $rules $api -}}
{{- end -}}
{{- range $list, $needs := include "supersonic.network.outside" $root | fromJson -}}
{{- if and (hasKey $needs $component) (get $egress $list) }}{{ $rules = append $rules (dict "to" (get $egress $list)) }}{{ end -}}
{{- end -}}
{{- $rules = concat $rules (get (get $egress "rules" | default dict) $component | default list) -}}
{{- toYaml $rules -}}
{{- end -}}

{{- /* A rule for DNS, as JSON. Takes networkPolicy.egress. */ -}}
{{- define "supersonic.network.dns" -}}
{{- if .dns -}}
{{- dict "to" .dns | toJson -}}
{{- else -}}
{{- $ports := list 53 5353 -}}
{{- $udp := include "supersonic.network.ports" (list "UDP" $ports) | fromJsonArray -}}
{{- dict "ports" (include "supersonic.network.ports" (list "TCP" $ports) | fromJsonArray | concat $udp) | toJson -}}
{{- end -}}
{{- end -}}

{{- /*
What the components need outside the release, as JSON: by list of networkPolicy.egress,
the component and what it cannot do otherwise.
*/ -}}
{{- define "supersonic.network.outside" -}}
{{- $issuers := dict -}}
{{- if and .Values.envoy.enabled .Values.envoy.auth.enabled -}}
{{- $_ := set $issuers "envoy" "Envoy cannot fetch the keys of the tokens, and refuses every call" -}}
{{- end -}}
{{- $stores := dict -}}
{{- range include "supersonic.triton.flags" . | fromJsonArray -}}
{{- if and (eq .name "model-repository") (contains "://" .value) -}}
{{- $_ := set $stores "triton" (printf "Triton cannot read models from %s" .value) -}}
{{- end -}}
{{- end -}}
{{- dict "prometheus" (include "supersonic.network.queriers" . | fromJson) "issuers" $issuers "stores" $stores
  "telemetry" (include "supersonic.network.senders" . | fromJson) | toJson -}}
{{- end -}}

{{- /* Who queries an external Prometheus. */ -}}
{{- define "supersonic.network.queriers" -}}
{{- $needs := dict -}}
{{- if eq (include "supersonic.prometheus.kind" .) "external" -}}
{{- if and .Values.envoy.enabled .Values.envoy.rate_limiter.prometheus_based.enabled -}}
{{- $_ := set $needs "envoy" "the gate cannot query the external Prometheus" -}}
{{- end -}}
{{- range $component, $key := dict "grafana" "grafana" "metrics-collector" "metricsCollector" -}}
{{- if include "supersonic.network.runs" (list $ $key) -}}
{{- $_ := set $needs $component (printf "%s cannot query the external Prometheus" $component) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $needs -}}
{{- end -}}

{{- /* Where components send traces or metrics to: lists of addresses or URLs by component, as JSON. */ -}}
{{- define "supersonic.network.addresses" -}}
{{- $addresses := dict "triton" list "envoy" list "opentelemetry-collector" list
  "tempo" (list (include "supersonic.tempo.remoteWriteUrl" .)) -}}
{{- if and .Values.envoy.enabled (not (include "supersonic.envoy.external" .)) -}}
{{- $_ := set $addresses "envoy" (list .Values.envoy.tracing.host) -}}
{{- end -}}
{{- range include "supersonic.triton.flags" . | fromJsonArray -}}
{{- if eq .name "trace-config" -}}
{{- $_ := set $addresses "triton" (append $addresses.triton (regexFind "url=[^,]+" .value | trimPrefix "url=")) -}}
{{- end -}}
{{- end -}}
{{- if include "supersonic.network.runs" (list . "opentelemetry-collector") -}}
{{- range (include "supersonic.otel.config" . | fromYaml).exporters -}}
{{- if kindIs "map" . -}}
{{- $_ := set $addresses "opentelemetry-collector" (append (index $addresses "opentelemetry-collector") (get . "endpoint" | toString)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $addresses -}}
{{- end -}}

{{- /* Who sends traces or metrics to an address that is not of this release. */ -}}
{{- define "supersonic.network.senders" -}}
{{- $needs := dict -}}
{{- range $component, $urls := include "supersonic.network.addresses" . | fromJson -}}
{{- range $urls -}}
{{- if and . (not (include "supersonic.network.ofRelease" (list $ . "tempo" "prometheus-server" "opentelemetry-collector"))) -}}
{{- $_ := set $needs $component (printf "%s cannot send to %s" $component .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $needs -}}
{{- end -}}

{{- /*
"true" if an address is that of a Service of this release. Takes a list: the root
context, the address or URL, the Services' names.
*/ -}}
{{- define "supersonic.network.ofRelease" -}}
{{- $root := first . -}}
{{- $host := regexReplaceAll "^[a-z]+://" (index . 1) "" | regexFind "^[^:/]+" | trimSuffix "." -}}
{{- range slice . 2 -}}
{{- $full := include "supersonic.names.host" (list $root .) -}}
{{- if hasPrefix (printf "%s." $host) (printf "%s." $full) }}true{{ end -}}
{{- end -}}
{{- end -}}
