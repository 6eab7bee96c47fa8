{{- define "supersonic.envoy.faults" -}}
{{- if .Values.envoy.enabled }}
{{- include "supersonic.envoy.portFaults" . }}
{{- include "supersonic.envoy.serviceFaults" .Values.envoy.service }}
{{- include "supersonic.envoy.trafficFaults" . }}
{{- include "supersonic.envoy.drainFaults" . }}
{{- include "supersonic.envoy.authFaults" . }}
{{- include "supersonic.envoy.configFaults" . }}
{{- else }}
{{- include "supersonic.envoy.absenceFaults" .Values.envoy }}
{{- end }}
{{- end -}}

{{- /* What asks Envoy for something while there is none. Takes the section envoy. */ -}}
{{- define "supersonic.envoy.absenceFaults" -}}
{{- $asked := dict
  "auth" (list .auth.enabled "nobody asks for tokens")
  "hold" (list .hold.enabled "no call waits")
  "ingress" (list .ingress.enabled "there is nothing to lead to")
  "rate_limiter.listener_level" (list .rate_limiter.listener_level.enabled "nobody counts connections")
  "rate_limiter.prometheus_based" (list .rate_limiter.prometheus_based.enabled "nobody turns clients away")
  "tls" (list .tls.enabled "nobody speaks TLS") -}}
{{- range $key, $on := $asked }}
{{- if first $on }}
envoy.{{ $key }}.enabled: must be false without envoy.enabled, since {{ last $on }}, got true
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.portFaults" -}}
{{- $envoy := .Values.envoy -}}
{{- $seen := dict }}
{{- range $envoy.service.ports }}
{{- if hasKey $seen .name }}
envoy.service.ports: must name each port once, got {{ quote .name }} twice
{{- end }}
{{- $_ := set $seen .name true }}
{{- if not (has .name (list "grpc" "admin")) }}
envoy.service.ports: must be grpc, or admin of earlier versions, since Envoy listens on no other, got {{ quote .name }}
{{- else if lt (int64 .targetPort) 1024 }}
envoy.service.ports: targetPort of {{ .name }} must be at least 1024, since Envoy runs without root, got {{ int64 .targetPort }}; port may be any
{{- end }}
{{- end }}
{{- if not (hasKey $seen "grpc") }}
envoy.service.ports: must have an entry named grpc, got {{ keys $seen | sortAlpha | toJson }}
{{- end }}
{{- $listening := dict (include "supersonic.envoy.adminPort" .) "Envoy's admin interface on loopback" }}
{{- $wanted := list (list (include "supersonic.envoy.grpcTargetPort" .) "envoy.service.ports: targetPort of grpc") (list (include "supersonic.envoy.statsPort" .) (ternary "envoy.service.ports: targetPort of admin" "envoy.statsPort" (hasKey $seen "admin"))) }}
{{- if eq $envoy.drain.method "hook" }}
{{- $wanted = append $wanted (list (printf "%d" (int64 $envoy.drain.port)) "envoy.drain.port") }}
{{- end }}
{{- range $wanted }}
{{- if hasKey $listening (first .) }}
{{ last . }}: must be a port of its own, got {{ first . }}, which is that of {{ get $listening (first .) }}
{{- end }}
{{- $_ := set $listening (first .) (last .) }}
{{- end }}
{{- end -}}

{{- /* What a Service of its type can't have. Takes envoy.service. */ -}}
{{- define "supersonic.envoy.serviceFaults" -}}
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
envoy.service.externalTrafficPolicy: must be empty with envoy.service.type ClusterIP, which nobody outside reaches, got {{ . }}
{{- end }}
{{- range .ports }}
{{- with get . "nodePort" }}
envoy.service.ports: must have no nodePort with envoy.service.type ClusterIP, got {{ int64 . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.trafficFaults" -}}
{{- $envoy := .Values.envoy -}}
{{- $policy := $envoy.loadBalancerPolicy -}}
{{- if and (has $policy (list "RING_HASH" "MAGLEV")) (not (or $envoy.hashPolicy.header $envoy.hashPolicy.sourceIp)) }}
envoy.loadBalancerPolicy: must come with envoy.hashPolicy.header or envoy.hashPolicy.sourceIp, which say what is hashed, got {{ quote $policy }}
{{- end }}
{{- if and $envoy.slowStart.window (not (has $policy (list "LEAST_REQUEST" "ROUND_ROBIN"))) }}
envoy.slowStart.window: must be empty with envoy.loadBalancerPolicy {{ $policy }}, which has no slow start, got {{ quote $envoy.slowStart.window }}
{{- end }}
{{- range $key, $value := dict "slowStart.window" $envoy.slowStart.window "maxConnectionDuration" $envoy.maxConnectionDuration "connectTimeout" $envoy.connectTimeout "healthCheck.interval" $envoy.healthCheck.interval "healthCheck.timeout" $envoy.healthCheck.timeout "outlierDetection.ejectionTime" $envoy.outlierDetection.ejectionTime }}
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
envoy.streamIdleTimeout: must be above envoy.hold.maxSeconds ({{ $envoy.hold.maxSeconds }}), since a call that waits is quiet, got {{ quote $envoy.streamIdleTimeout }}
{{- end }}
{{- if and $envoy.ingress.enabled (not $envoy.ingress.hostName) }}
envoy.ingress.hostName: must be a host, or "*" for every host, got ""
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.drainFaults" -}}
{{- $envoy := .Values.envoy -}}
{{- $seconds := int64 $envoy.drain.seconds -}}
{{- $grace := include "supersonic.envoy.graceSeconds" . | int64 -}}
{{- if le $grace $seconds }}
envoy.terminationGracePeriodSeconds: must be above envoy.drain.seconds ({{ $seconds }}), got {{ $grace }}
{{- end }}
{{- if eq $envoy.drain.method "sleep" }}
{{- $age := $envoy.maxConnectionDuration }}
{{- if not $age }}
envoy.maxConnectionDuration: must be set with envoy.drain.method sleep, since nothing else makes clients leave, got ""
{{- else if le (float64 $seconds) (include "supersonic.envoy.seconds" $age | float64) }}
envoy.drain.seconds: must be above envoy.maxConnectionDuration ({{ $age }}) with envoy.drain.method sleep, got {{ $seconds }}
{{- end }}
{{- else if lt $seconds (add (int64 $envoy.drain.timeSeconds) 2) }}
envoy.drain.seconds: must be at least 2 above envoy.drain.timeSeconds ({{ int64 $envoy.drain.timeSeconds }}), got {{ $seconds }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.authFaults" -}}
{{- $auth := .Values.envoy.auth -}}
{{- if $auth.enabled }}
{{- if not (or $auth.jwt_issuer $auth.providers) }}
envoy.auth.enabled: must come with envoy.auth.jwt_issuer or envoy.auth.providers, got true
{{- end }}
{{- if and $auth.jwt_issuer (not $auth.jwt_remote_jwks_uri) }}
envoy.auth.jwt_remote_jwks_uri: must be an https URL with envoy.auth.jwt_issuer, got ""
{{- end }}
{{- $names := dict "default" true }}
{{- $issuers := dict }}
{{- with $auth.jwt_issuer }}{{ $_ := set $issuers . true }}{{ end }}
{{- range $auth.providers }}
{{- if hasKey $names .name }}
envoy.auth.providers: must have a name each, other than default, got {{ quote .name }}
{{- end }}
{{- if hasKey $issuers .issuer }}
envoy.auth.providers: must have an issuer each, got {{ quote .issuer }} twice
{{- end }}
{{- $_ := set $names .name true }}
{{- $_ := set $issuers .issuer true }}
{{- end }}
{{- end }}
{{- if and .Values.envoy.tls.enabled (not .Values.envoy.tls.secretName) }}
envoy.tls.secretName: must name a Secret with envoy.tls.enabled, got ""
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.configFaults" -}}
{{- $external := .Values.envoy.external_config -}}
{{- if and $external.load_from_configmap (not $external.configmap_name) }}
envoy.external_config.configmap_name: must name a ConfigMap with envoy.external_config.load_from_configmap, got ""
{{- end }}
{{- $ours := list "-c" "--config-path" "--config-yaml" "--service-node" "--service-cluster" "--drain-time-s" "--disable-hot-restart" "--mode" "--restart-epoch" "--admin-address-path" }}
{{- range include "supersonic.envoy.userArgs" . | fromJsonArray }}
{{- $flag := regexFind "^[^ =]+" . }}
{{- if has $flag $ours }}
envoy.args: must leave {{ $flag }} to the chart, got {{ quote . }}; a configuration of your own goes into envoy.external_config
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.advice" -}}
{{- $envoy := .Values.envoy -}}
{{- if $envoy.enabled }}
{{- if include "supersonic.envoy.external" . }}
{{- $unread := list }}
{{- range $key, $on := dict "tls" $envoy.tls.enabled "auth" $envoy.auth.enabled "rate_limiter.listener_level" $envoy.rate_limiter.listener_level.enabled "accessLog" $envoy.accessLog.enabled "maxConnectionDuration" $envoy.maxConnectionDuration "slowStart" $envoy.slowStart.window }}
{{- if $on }}{{ $unread = append $unread (printf "envoy.%s" $key) }}{{ end }}
{{- end }}
{{- if $unread }}
envoy.external_config: your own configuration takes the place of the chart's, so {{ join ", " $unread }} {{ ternary "has" "have" (eq (len $unread) 1) }} no effect
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
{{- if and $envoy.auth.enabled (ne $envoy.service.type "ClusterIP") (not $envoy.tls.enabled) }}
envoy.auth: tokens cross the network in the clear, since envoy.service.type is {{ $envoy.service.type }} and envoy.tls is off
{{- end }}
{{- if eq (int64 $envoy.replicas) 0 }}
envoy.replicas: is 0, so nobody can call, and the built-in metric is not known
{{- end }}
{{- end }}
{{- end -}}
