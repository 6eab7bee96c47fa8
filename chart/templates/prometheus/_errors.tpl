{{- /* Errors of the section prometheus, and of consumers without a Prometheus, one per line. */ -}}
{{- define "supersonic.prometheus.errors" -}}
{{- include "supersonic.prometheus.rulesErrors" . }}
{{- include "supersonic.prometheus.monitorErrors" . }}
{{- include "supersonic.prometheus.durationErrors" . }}
{{- if .Values.prometheus.external.enabled }}
{{- include "supersonic.prometheus.externalErrors" . }}
{{- else if .Values.prometheus.enabled }}
{{- include "supersonic.prometheus.embeddedErrors" . }}
{{- else }}
{{- $consumers := dict
  "keda.enabled" .Values.keda.enabled
  "envoy.rate_limiter.prometheus_based.enabled" .Values.envoy.rate_limiter.prometheus_based.enabled
  "metricsCollector.enabled" .Values.metricsCollector.enabled }}
{{- range $key, $on := $consumers }}
{{- if $on }}
{{ $key }}: requires a Prometheus: set prometheus.enabled, or prometheus.external.enabled and prometheus.external.url
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.rulesErrors" -}}
{{- if .Values.prometheus.rules.gateReadsRecord }}
{{- if not (include "supersonic.prometheus.rulesOn" .) }}
prometheus.rules.gateReadsRecord: requires prometheus.rules.enabled, and the embedded Prometheus or prometheus.podMonitors.enabled
{{- end }}
{{- if not (include "supersonic.scaling.builtIn" .) }}
prometheus.rules.gateReadsRecord: must be false with a serverLoadMetric, which is not recorded
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.monitorErrors" -}}
{{- $m := .Values.prometheus.podMonitors -}}
{{- if and $m.enabled $m.interval $m.scrapeTimeout }}
{{- $interval := include "supersonic.scaling.milliseconds" $m.interval | int64 }}
{{- if gt (include "supersonic.scaling.milliseconds" $m.scrapeTimeout | int64) $interval }}
prometheus.podMonitors.scrapeTimeout: must be at most the interval ({{ $m.interval }}), got {{ $m.scrapeTimeout }}
{{- end }}
{{- end }}
{{- if and $m.enabled .Values.prometheus.external.scrapeInterval $m.interval (ne $m.interval .Values.prometheus.external.scrapeInterval) }}
prometheus.podMonitors.interval: must equal prometheus.external.scrapeInterval ({{ .Values.prometheus.external.scrapeInterval }}) or be empty, got {{ $m.interval }}
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.durationErrors" -}}
{{- $p := .Values.prometheus -}}
{{- $durations := dict -}}
{{- if include "supersonic.prometheus.embedded" . -}}
{{- $durations = dict
  "server.global.scrape_interval" $p.server.global.scrape_interval
  "server.global.evaluation_interval" $p.server.global.evaluation_interval
  "server.retention" $p.server.retention -}}
{{- end -}}
{{- if $p.external.enabled }}{{ $_ := set $durations "external.scrapeInterval" $p.external.scrapeInterval }}{{ end -}}
{{- if $p.podMonitors.enabled -}}
{{- $_ := set $durations "podMonitors.interval" $p.podMonitors.interval -}}
{{- $_ := set $durations "podMonitors.scrapeTimeout" $p.podMonitors.scrapeTimeout -}}
{{- end -}}
{{- range $key, $duration := $durations }}
{{- if and $duration (eq (include "supersonic.scaling.milliseconds" $duration) "0") }}
prometheus.{{ $key }}: must be longer than 0, got {{ $duration }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.externalErrors" -}}
{{- $e := .Values.prometheus.external -}}
{{- $scheme := include "supersonic.prometheus.urlGroup" (list . 1) -}}
{{- $host := include "supersonic.prometheus.urlGroup" (list . 2) -}}
{{- $port := include "supersonic.prometheus.urlGroup" (list . 3) -}}
{{- $path := include "supersonic.prometheus.urlGroup" (list . 4) -}}
{{- $address := include "supersonic.prometheus.address" . | fromJson -}}
{{- if not $host }}
prometheus.external.url: must be a host, or a URL such as https://metrics.example.org:9090/prometheus without user or fragment, got {{ if contains "@" $e.url }}one with a user{{ else }}{{ quote $e.url }}{{ end }}
{{- end }}
{{- if and $scheme $e.scheme (ne $scheme $e.scheme) }}
prometheus.external.scheme: must equal the scheme of prometheus.external.url ({{ $scheme }}) or be empty, got {{ $e.scheme }}
{{- end }}
{{- if and $port $e.port (ne (int $port) (int $e.port)) }}
prometheus.external.port: must equal the port of prometheus.external.url ({{ $port }}) or be null, got {{ int $e.port }}
{{- end }}
{{- if and $host (or (lt (int $address.port) 1) (gt (int $address.port) 65535)) }}
prometheus.external.url: must have a port between 1 and 65535, got {{ int $address.port }}
{{- end }}
{{- if and $path $e.path (ne (trimAll "/" $path) (trimAll "/" $e.path)) }}
prometheus.external.path: must equal the path of prometheus.external.url ({{ $path }}) or be empty, got {{ $e.path }}
{{- end }}
{{- include "supersonic.prometheus.tlsErrors"
  (dict "tls" $e.tls "scheme" $address.scheme "host" $address.host "keda" .Values.keda.enabled) }}
{{- if and $e.auth.bearerTokenSecret.name $e.auth.basicAuthSecret.name }}
prometheus.external.auth: must have only one of bearerTokenSecret and basicAuthSecret, got both
{{- end }}
{{- include "supersonic.prometheus.identityErrors" . }}
{{- include "supersonic.prometheus.parameterErrors" . }}
{{- range $name, $value := $e.headers }}
{{- if has (lower $name) (list "authorization" "host" "content-type" "content-length") }}
prometheus.external.headers: must not set {{ $name }}{{ if eq (lower $name) "authorization" }}: use prometheus.external.auth, which reads a Secret{{ end }}
{{- end }}
{{- if and $.Values.keda.enabled (or (contains "," (toString $value)) (contains "=" (toString $value))) }}
prometheus.external.headers.{{ $name }}: must not contain a comma or an equals sign, which KEDA reads as the start of the next header, got {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.parameterErrors" -}}
{{- $e := .Values.prometheus.external -}}
{{- range include "supersonic.prometheus.urlGroup" (list . 5) | splitList "&" | compact }}
{{- $name := splitList "=" . | first }}
{{- $value := get (get $e "queryParameters" | default dict) $name }}
{{- if and $value (ne $value (splitList "=" . | last)) }}
prometheus.external.queryParameters.{{ $name }}: must equal that of prometheus.external.url ({{ splitList "=" . | last }}) or not be set, got {{ $value }}
{{- end }}
{{- end }}
{{- range $name, $value := (include "supersonic.prometheus.address" . | fromJson).queryParameters }}
{{- if has $name (list "query" "time" "match[]") }}
prometheus.external.queryParameters: must not set {{ $name }}, which the queries set
{{- end }}
{{- if and $.Values.keda.enabled (or (contains "," $value) (contains "=" $value)) }}
prometheus.external.queryParameters.{{ $name }}: must not contain a comma or an equals sign, which KEDA reads as the start of the next parameter, got {{ quote $value }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* An identity of the cloud, which only KEDA can use. */ -}}
{{- define "supersonic.prometheus.identityErrors" -}}
{{- $auth := .Values.prometheus.external.auth -}}
{{- $tls := .Values.prometheus.external.tls -}}
{{- if include "supersonic.prometheus.podIdentity" . }}
{{- $provider := get $auth.podIdentity "provider" }}
{{- if not $provider }}
prometheus.external.auth.podIdentity.provider: must be azure-workload, gcp or aws, got none
{{- end }}
{{- if or $auth.bearerTokenSecret.name $auth.basicAuthSecret.name $tls.caSecret.name $tls.caConfigMap.name $tls.insecureSkipVerify }}
prometheus.external.auth.podIdentity: must be the only authentication, without a CA and insecureSkipVerify, which KEDA does not combine with it
{{- end }}
{{- if and (eq $provider "aws") (not $auth.awsRegion) }}
prometheus.external.auth.awsRegion: must name the region of Prometheus with podIdentity.provider aws, or KEDA cannot sign its queries, got ""
{{- end }}
{{- $gate := and .Values.envoy.enabled .Values.envoy.rate_limiter.prometheus_based.enabled }}
{{- $grafana := and .Values.grafana.enabled (not (get (index .Values.grafana.datasources "datasources.yaml") "datasources")) }}
{{- range $key, $on := dict
  "envoy.rate_limiter.prometheus_based.enabled" $gate
  "metricsCollector.enabled" .Values.metricsCollector.enabled
  "grafana.enabled" $grafana }}
{{- if $on }}
{{ $key }}: must be false with prometheus.external.auth.podIdentity, which only KEDA has; {{ if eq $key "grafana.enabled" }}set grafana.datasources, or {{ end }}run a proxy that authenticates to Prometheus, set prometheus.external.url to it, and leave podIdentity empty
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a dict: tls, scheme, host, keda. */ -}}
{{- define "supersonic.prometheus.tlsErrors" -}}
{{- $ca := or .tls.caSecret.name .tls.caConfigMap.name -}}
{{- if and .tls.caSecret.name .tls.caConfigMap.name }}
prometheus.external.tls: must have only one of caSecret and caConfigMap, got both
{{- end }}
{{- if and $ca .tls.insecureSkipVerify }}
prometheus.external.tls.insecureSkipVerify: must be false with a CA: KEDA would verify, and the other consumers would not
{{- end }}
{{- if and (eq .scheme "http") (or $ca .tls.serverName .tls.insecureSkipVerify) }}
prometheus.external.tls: requires the scheme https, got http
{{- end }}
{{- if and .keda .host .tls.serverName (ne .tls.serverName .host) }}
prometheus.external.tls.serverName: must be empty or the host ({{ .host }}) if keda.enabled is true, because KEDA verifies no other name, got {{ .tls.serverName }}
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.embeddedErrors" -}}
{{- $p := .Values.prometheus -}}
{{- $role := include "supersonic.names.component" (list . "prometheus-role") }}
{{- $account := include "supersonic.names.component" (list . "prometheus-sa") }}
{{- if not (has $p.server.useExistingClusterRoleName (list "" $role)) }}
prometheus.server.useExistingClusterRoleName: must be empty, because the chart creates the Role {{ $role }}, got {{ quote $p.server.useExistingClusterRoleName }}
{{- end }}
{{- if not (has $p.serviceAccounts.server.name (list "" $account)) }}
prometheus.serviceAccounts.server.name: must be empty, because the chart creates the ServiceAccount {{ $account }}, got {{ quote $p.serviceAccounts.server.name }}
{{- end }}
{{- if not (has $p.server.configMapOverrideName (list "" "prometheus-config")) }}
prometheus.server.configMapOverrideName: must be empty, because the chart creates the configuration, got {{ quote $p.server.configMapOverrideName }}
{{- end }}
{{- include "supersonic.prometheus.storageErrors" $p.server }}
{{- if and $p.server.ingress.enabled (not (or $p.server.ingress.hosts $p.server.ingress.hostName)) }}
prometheus.server.ingress.hosts: must name a host, got none
{{- end }}
{{- end -}}

{{- /* Takes prometheus.server. */ -}}
{{- define "supersonic.prometheus.storageErrors" -}}
{{- include "supersonic.prometheus.claimErrors" (list "prometheus.server.persistentVolume" .persistentVolume) }}
{{- $key := ternary "persistentVolume.size" "emptyDir.sizeLimit" .persistentVolume.enabled -}}
{{- $size := ternary .persistentVolume.size .emptyDir.sizeLimit .persistentVolume.enabled | toString -}}
{{- $isKnown := and $size (not (and .persistentVolume.enabled .persistentVolume.existingClaim)) -}}
{{- if and .retentionSize $isKnown }}
{{- /* A GB in Prometheus is a Gi in Kubernetes. */ -}}
{{- $kept := regexReplaceAll "([A-Z])$" (trimSuffix "B" .retentionSize) "${1}i" }}
{{- if ge (include "supersonic.pods.amount" $kept | float64) (include "supersonic.pods.amount" $size | float64) }}
prometheus.server.retentionSize: must be less than prometheus.server.{{ $key }} ({{ $size }}), or the volume fills up first, got {{ .retentionSize }}, which is {{ $kept }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a list: the key of the volume, the volume. */ -}}
{{- define "supersonic.prometheus.claimErrors" -}}
{{- if and (last .).existingClaim (not (last .).enabled) }}
{{ first . }}.enabled: must be true with {{ first . }}.existingClaim, got false
{{- end }}
{{- end -}}

{{- define "supersonic.prometheus.warnings" -}}
{{- $address := include "supersonic.prometheus.address" . | fromJson -}}
{{- $p := .Values.prometheus -}}
{{- if and $p.enabled $p.external.enabled }}
prometheus.enabled: has no effect if prometheus.external.enabled is true: the external Prometheus is used, and none is installed
{{- end }}
{{- include "supersonic.prometheus.sharedWarnings" . }}
{{- if and (eq $address.scheme "http") (ne $address.auth.type "none") }}
prometheus.external.auth: is sent unencrypted to http://{{ $address.host }}
{{- end }}
{{- if $address.insecureSkipVerify }}
prometheus.external.tls.insecureSkipVerify: anyone on the network path can impersonate Prometheus; configure a CA instead
{{- end }}
{{- if and (include "supersonic.prometheus.embedded" .) (ne $p.server.service.type "ClusterIP") }}
prometheus.server.service.type: Prometheus has no authentication, and {{ $p.server.service.type }} makes it reachable from outside the cluster
{{- end }}
{{- if and (include "supersonic.prometheus.embedded" .) $p.server.ingress.enabled }}
prometheus.server.ingress.enabled: Prometheus has no authentication{{ if include "supersonic.prometheus.remoteWrite" . }}, and anyone who can reach the host can write the series that scale the fleet{{ end }}: add authentication to the Ingress
{{- end }}
{{- if include "supersonic.prometheus.operator" . }}
{{- $unlabelled := list }}
{{- if not $p.podMonitors.labels }}{{ $unlabelled = append $unlabelled "podMonitors" }}{{ end }}
{{- if and $p.rules.enabled (not $p.rules.labels) }}{{ $unlabelled = append $unlabelled "rules" }}{{ end }}
{{- range $unlabelled }}
prometheus.{{ . }}.labels: is empty, so an operator may ignore them; kube-prometheus-stack, for example, selects by the label release, set to the name of its own release
{{- end }}
{{- end }}
{{- end -}}

{{- /* An external Prometheus that is the embedded one of a release in this namespace. */ -}}
{{- define "supersonic.prometheus.sharedWarnings" -}}
{{- $own := include "supersonic.names.instance" . -}}
{{- $pattern := printf "^([-a-z0-9]+)-prometheus-server(\\.%s(\\.svc.*)?)?$" .Release.Namespace -}}
{{- if eq (include "supersonic.prometheus.kind" .) "external" }}
{{- $host := (include "supersonic.prometheus.address" . | fromJson).host }}
{{- if regexMatch $pattern $host }}
{{- $other := regexReplaceAll $pattern $host "${1}" }}
{{- if eq $other $own }}
prometheus.external.url: is the embedded Prometheus of this release, which prometheus.external.enabled leaves out: set it to false, and prometheus.enabled to true
{{- else }}
prometheus.external.url: is the embedded Prometheus of release {{ $other }}, which scrapes this one only if its prometheus.server.otherReleases contains {{ $own }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
