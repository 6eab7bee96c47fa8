{{- define "supersonic.envoy.errors" -}}
{{- if .Values.envoy.enabled }}
{{- include "supersonic.envoy.portErrors" . }}
{{- include "supersonic.envoy.serviceErrors" .Values.envoy.service }}
{{- include "supersonic.envoy.trafficErrors" . }}
{{- include "supersonic.envoy.pathErrors" . }}
{{- include "supersonic.envoy.drainErrors" . }}
{{- include "supersonic.envoy.overloadErrors" . }}
{{- include "supersonic.envoy.authErrors" . }}
{{- include "supersonic.envoy.configErrors" . }}
{{- include "supersonic.pods.volumeErrors" (list "envoy" (include "supersonic.envoy.volumes" .) (include "supersonic.envoy.mounts" .)) }}
{{- else }}
{{- include "supersonic.envoy.absenceErrors" .Values.envoy }}
{{- end }}
{{- end -}}

{{- /* Features that need Envoy while it is disabled. Takes the section envoy. */ -}}
{{- define "supersonic.envoy.absenceErrors" -}}
{{- $asked := dict
  "auth" (list .auth.enabled "no tokens are checked")
  "hold" (list .hold.enabled "no calls are held")
  "ingress" (list .ingress.enabled "there is nothing to route to")
  "rate_limiter.listener_level" (list .rate_limiter.listener_level.enabled "no connections are counted")
  "rate_limiter.prometheus_based" (list .rate_limiter.prometheus_based.enabled "no clients are refused")
  "tls" (list .tls.enabled "nothing serves TLS") -}}
{{- range $key, $on := $asked }}
{{- if first $on }}
envoy.{{ $key }}.enabled: must be false without envoy.enabled, because {{ last $on }}, got true
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.portErrors" -}}
{{- $envoy := .Values.envoy -}}
{{- $seen := dict }}
{{- range $envoy.service.ports }}
{{- if hasKey $seen .name }}
envoy.service.ports: must have unique names, got {{ quote .name }} twice
{{- end }}
{{- $_ := set $seen .name true }}
{{- if not (has .name (list "grpc" "admin")) }}
envoy.service.ports: must be named grpc (or admin, kept for 0.3.1), because Envoy listens on no other port, got {{ quote .name }}
{{- else if lt (int64 .targetPort) 1024 }}
envoy.service.ports: targetPort of {{ .name }} must be at least 1024, because Envoy does not run as root, got {{ int64 .targetPort }}; port may have any value
{{- end }}
{{- end }}
{{- if not (hasKey $seen "grpc") }}
envoy.service.ports: must have an entry named grpc, got {{ keys $seen | sortAlpha | toJson }}
{{- end }}
{{- $listening := dict (include "supersonic.envoy.adminPort" .) "Envoy's admin interface on loopback" }}
{{- $stats := ternary "envoy.service.ports: targetPort of admin" "envoy.statsPort" (hasKey $seen "admin") }}
{{- $wanted := list
  (list (include "supersonic.envoy.grpcTargetPort" .) "envoy.service.ports: targetPort of grpc")
  (list (include "supersonic.envoy.statsPort" .) $stats) }}
{{- if eq $envoy.drain.method "hook" }}
{{- $wanted = append $wanted (list (printf "%d" (int64 $envoy.drain.port)) "envoy.drain.port") }}
{{- end }}
{{- range $wanted }}
{{- if hasKey $listening (first .) }}
{{ last . }}: must be a different port, got {{ first . }}, which {{ get $listening (first .) }} uses
{{- end }}
{{- $_ := set $listening (first .) (last .) }}
{{- end }}
{{- end -}}

{{- /* Fields that this type of Service cannot have. Takes envoy.service. */ -}}
{{- define "supersonic.envoy.serviceErrors" -}}
{{- $service := . -}}
{{- if ne .type "LoadBalancer" }}
{{- range $key := list "loadBalancerClass" "loadBalancerIP" "loadBalancerSourceRanges" }}
{{- with get $service $key }}
envoy.service.{{ $key }}: must be empty with envoy.service.type {{ $service.type }}, which has no load balancer, got {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq .type "ClusterIP" }}
{{- with .externalTrafficPolicy }}
envoy.service.externalTrafficPolicy: must be empty with envoy.service.type ClusterIP, which is not reachable from outside, got {{ . }}
{{- end }}
{{- range .ports }}
{{- with get . "nodePort" }}
envoy.service.ports: must not have a nodePort with envoy.service.type ClusterIP, got {{ int64 . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.trafficErrors" -}}
{{- $envoy := .Values.envoy -}}
{{- $policy := $envoy.loadBalancerPolicy -}}
{{- if and (has $policy (list "RING_HASH" "MAGLEV")) (not (or $envoy.hashPolicy.header $envoy.hashPolicy.sourceIp)) }}
envoy.loadBalancerPolicy: requires envoy.hashPolicy.header or envoy.hashPolicy.sourceIp, which say what is hashed, got {{ quote $policy }}
{{- end }}
{{- if and $envoy.slowStart.window (not (has $policy (list "LEAST_REQUEST" "ROUND_ROBIN"))) }}
envoy.slowStart.window: must be empty with envoy.loadBalancerPolicy {{ $policy }}, which has no slow start, got {{ quote $envoy.slowStart.window }}
{{- end }}
{{- range $key, $value := dict
  "slowStart.window" $envoy.slowStart.window
  "maxConnectionDuration" $envoy.maxConnectionDuration
  "connectTimeout" $envoy.connectTimeout
  "healthCheck.interval" $envoy.healthCheck.interval
  "healthCheck.timeout" $envoy.healthCheck.timeout
  "outlierDetection.ejectionTime" $envoy.outlierDetection.ejectionTime }}
{{- if and $value (le (include "supersonic.envoy.seconds" $value | float64) 0.0) }}
envoy.{{ $key }}: must be above 0s, got {{ quote $value }}
{{- end }}
{{- end }}
{{- $bucket := $envoy.rate_limiter.listener_level }}
{{- if lt (include "supersonic.envoy.seconds" $bucket.fill_interval | float64) 0.05 }}
envoy.rate_limiter.listener_level.fill_interval: must be at least 0.05s, got {{ quote $bucket.fill_interval }}
{{- end }}
{{- $idle := include "supersonic.envoy.seconds" $envoy.streamIdleTimeout | float64 }}
{{- if and $envoy.hold.enabled (gt $idle 0.0) (le $idle (float64 $envoy.hold.maxSeconds)) }}
envoy.streamIdleTimeout: must be above envoy.hold.maxSeconds ({{ $envoy.hold.maxSeconds }}), because a held call is idle, got {{ quote $envoy.streamIdleTimeout }}
{{- end }}
{{- if and $envoy.ingress.enabled (not $envoy.ingress.hostName) }}
envoy.ingress.hostName: must be a host, or "*" for every host, got ""
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.pathErrors" -}}
{{- $other := .Values.envoy.paths.other | default list -}}
{{- $work := .Values.envoy.paths.work | default list -}}
{{- $service := include "supersonic.envoy.inferenceService" . -}}
{{- $health := include "supersonic.envoy.healthMethods" . | fromJsonArray -}}
{{- range $key, $paths := dict "other" $other "work" $work }}
{{- range $paths }}
{{- if eq . $service }}
envoy.paths.{{ $key }}: must name single methods of Triton's inference service, because some of them control the server, got {{ quote . }}
{{- else if has . $health }}
envoy.paths.{{ $key }}: must not contain health methods, which reach Triton anyway, got {{ quote . }}
{{- else if and (eq $key "work") (has . $other) }}
envoy.paths.work: must not contain what is in envoy.paths.other, got {{ quote . }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "supersonic.gate.enabled" . }}
{{- range $method := .Values.envoy.rate_limiter.prometheus_based.methods }}
{{- $reached := and (hasPrefix $service $method) (not (has $method (include "supersonic.envoy.controlMethods" $ | fromJsonArray))) }}
{{- range concat $health $work $other }}
{{- if or (eq . $method) (and (hasSuffix "/" .) (hasPrefix . $method)) }}{{ $reached = true }}{{ end }}
{{- end }}
{{- if and (not $reached) (not (include "supersonic.envoy.external" $)) }}
envoy.rate_limiter.prometheus_based.methods: must reach Triton: add it to envoy.paths.work, got {{ quote $method }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.drainErrors" -}}
{{- $envoy := .Values.envoy -}}
{{- $seconds := int64 $envoy.drain.seconds -}}
{{- $grace := include "supersonic.envoy.graceSeconds" . | int64 -}}
{{- if le $grace $seconds }}
envoy.terminationGracePeriodSeconds: must be above envoy.drain.seconds ({{ $seconds }}), got {{ $grace }}
{{- end }}
{{- if eq $envoy.drain.method "sleep" }}
{{- $age := $envoy.maxConnectionDuration }}
{{- if not $age }}
envoy.maxConnectionDuration: must be set with envoy.drain.method sleep, because nothing else makes clients reconnect, got ""
{{- else if le (float64 $seconds) (include "supersonic.envoy.seconds" $age | float64) }}
envoy.drain.seconds: must be above envoy.maxConnectionDuration ({{ $age }}) with envoy.drain.method sleep, got {{ $seconds }}
{{- end }}
{{- else if lt $seconds (add (int64 $envoy.drain.timeSeconds) 2) }}
envoy.drain.seconds: must be at least 2 above envoy.drain.timeSeconds ({{ int64 $envoy.drain.timeSeconds }}), got {{ $seconds }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.authErrors" -}}
{{- $auth := .Values.envoy.auth -}}
{{- if $auth.enabled }}
{{- if not (or $auth.jwt_issuer $auth.providers) }}
envoy.auth.enabled: requires envoy.auth.jwt_issuer or envoy.auth.providers, got true
{{- end }}
{{- if and $auth.jwt_issuer (not $auth.jwt_remote_jwks_uri) }}
envoy.auth.jwt_remote_jwks_uri: must be an https URL if envoy.auth.jwt_issuer is set, got ""
{{- end }}
{{- $names := dict "default" true }}
{{- $issuers := dict }}
{{- with $auth.jwt_issuer }}{{ $_ := set $issuers . true }}{{ end }}
{{- range $auth.providers }}
{{- if hasKey $names .name }}
envoy.auth.providers: must have unique names other than default, got {{ quote .name }}
{{- end }}
{{- if hasKey $issuers .issuer }}
envoy.auth.providers: must have unique issuers, got {{ quote .issuer }} twice
{{- end }}
{{- $_ := set $names .name true }}
{{- $_ := set $issuers .issuer true }}
{{- end }}
{{- end }}
{{- if and .Values.envoy.tls.enabled (not .Values.envoy.tls.secretName) }}
envoy.tls.secretName: must name a Secret if envoy.tls.enabled is true, got ""
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.configErrors" -}}
{{- $external := .Values.envoy.external_config -}}
{{- if $external.load_from_configmap }}
{{- if .Values.envoy.auth.enabled }}
envoy.auth.enabled: must be false with envoy.external_config.load_from_configmap, whose configuration has to ask for tokens itself, got true
{{- end }}
{{- end }}
{{- if and $external.load_from_configmap (not $external.configmap_name) }}
envoy.external_config.configmap_name: must name a ConfigMap if envoy.external_config.load_from_configmap is true, got ""
{{- end }}
{{- $ours := list
  "-c" "--config-path" "--config-yaml" "--service-node" "--service-cluster"
  "--disable-hot-restart" "--mode" "--restart-epoch" "--admin-address-path" }}
{{- range include "supersonic.envoy.userArgs" . | fromJsonArray }}
{{- $flag := regexFind "^[^ =]+" . }}
{{- if has $flag $ours }}
envoy.args: must not set {{ $flag }}, which the chart sets, got {{ quote . }}; for a custom configuration, use envoy.external_config
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.warnings" -}}
{{- $envoy := .Values.envoy -}}
{{- if $envoy.enabled }}
{{- if include "supersonic.envoy.external" . }}
{{- $unread := list }}
{{- range $key, $on := dict
  "tls" $envoy.tls.enabled
  "rate_limiter.listener_level" $envoy.rate_limiter.listener_level.enabled
  "accessLog" $envoy.accessLog.enabled
  "maxConnectionDuration" $envoy.maxConnectionDuration
  "slowStart" $envoy.slowStart.window }}
{{- if $on }}{{ $unread = append $unread (printf "envoy.%s" $key) }}{{ end }}
{{- end }}
{{- if $unread }}
envoy.external_config: your configuration replaces the chart's, so {{ join ", " $unread }} {{ ternary "has" "have" (eq (len $unread) 1) }} no effect
{{- end }}
envoy.external_config: a change of ConfigMap {{ $envoy.external_config.configmap_name }} takes effect when the pods restart: kubectl -n {{ .Release.Namespace }} rollout restart deployment/{{ include "supersonic.names.component" (list . "envoy") }}
{{- end }}
{{- if and (or $envoy.hashPolicy.header $envoy.hashPolicy.sourceIp) (not (has $envoy.loadBalancerPolicy (list "RING_HASH" "MAGLEV"))) }}
envoy.hashPolicy: has no effect with envoy.loadBalancerPolicy {{ $envoy.loadBalancerPolicy }}
{{- end }}
{{- range include "supersonic.envoy.providers" . | fromJsonArray }}
{{- if not .audiences }}
envoy.auth: provider {{ .name }} has no audiences, so its tokens for any other service are accepted too
{{- end }}
{{- end }}
{{- if and $envoy.auth.enabled (not .Values.networkPolicy.enabled) }}
envoy.auth: pods of the cluster can call Triton's Service without a token, because networkPolicy.enabled is false
{{- end }}
{{- if and $envoy.auth.enabled (ne $envoy.service.type "ClusterIP") (not $envoy.tls.enabled) }}
envoy.auth: tokens are sent unencrypted, because envoy.service.type is {{ $envoy.service.type }} and envoy.tls.enabled is false
{{- end }}
{{- if eq (include "supersonic.pods.replicas" $envoy) "0" }}
envoy.replicas: is 0, so clients cannot call, and the built-in metric is unknown
{{- end }}
{{- end }}
{{- end -}}
