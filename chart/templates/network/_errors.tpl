{{- define "supersonic.network.errors" -}}
{{- $policy := .Values.networkPolicy -}}
{{- $outside := or (eq (include "supersonic.prometheus.kind" .) "external") .Values.prometheus.podMonitors.enabled -}}
{{- if and $policy.enabled (not $policy.scrapers) $outside }}
networkPolicy.scrapers: must list the pods of the external Prometheus, or they cannot scrape, got none
{{- end }}
{{- if and $policy.enabled $policy.egress.enabled }}
{{- range $list, $needs := include "supersonic.network.outside" . | fromJson }}
{{- if and $needs (not (get $policy.egress $list)) }}
networkPolicy.egress.{{ $list }}: must list pods or addresses, or {{ values $needs | sortAlpha | join ", " }}, got none; without networkPolicy.egress.enabled, they may reach anything
{{- end }}
{{- end }}
{{- $rules := get $policy.egress "rules" | default dict }}
{{- if and .Values.envoy.enabled (include "supersonic.envoy.external" .) (not (hasKey $rules "envoy")) }}
networkPolicy.egress.rules.envoy: must be set with envoy.external_config, to what the configuration reaches besides Triton and Prometheus, or to [], got none
{{- end }}
{{- if and (include "supersonic.prometheus.embedded" .) .Values.prometheus.server.alertmanagers (not (get $rules "prometheus")) }}
networkPolicy.egress.rules.prometheus: must allow the Alertmanagers in prometheus.server.alertmanagers, or they get no alerts, got none
{{- end }}
{{- end }}
{{- end -}}

{{- /* Pods that probably reach something that the chart does not know of. */ -}}
{{- define "supersonic.network.warnings" -}}
{{- $policy := .Values.networkPolicy -}}
{{- if and $policy.enabled $policy.egress.enabled }}
{{- $rules := get $policy.egress "rules" | default dict }}
{{- $own := concat (get .Values.triton "initContainers" | default list) (get .Values.triton "extraContainers" | default list) }}
{{- if and $own (not (hasKey $rules "triton")) }}
networkPolicy.egress.rules.triton: is not set, so triton.initContainers and triton.extraContainers reach DNS alone; list what they need, or set it to []
{{- end }}
{{- $sections := keys (index .Values.grafana "grafana.ini") | join " " }}
{{- $sources := get (index .Values.grafana.datasources "datasources.yaml") "datasources" }}
{{- $servers := "smtp|auth\\.(ldap|jwt|.*oauth|google|github|gitlab|azuread|okta)|remote_cache|database" }}
{{- $calls := or $sources (regexMatch (printf "(^| )(%s)( |$)" $servers) $sections) }}
{{- if and .Values.grafana.enabled $calls (not (hasKey $rules "grafana")) }}
networkPolicy.egress.rules.grafana: is not set, so Grafana reaches only DNS, Prometheus and Tempo; list what its own data sources and grafana.ini need, or set it to []
{{- end }}
{{- end }}
{{- end -}}
