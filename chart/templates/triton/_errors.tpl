{{- /* Errors and warnings of the section triton, one per line. */ -}}
{{- define "supersonic.triton.errors" -}}
{{- include "supersonic.triton.portErrors" . }}
{{- include "supersonic.pods.volumeErrors"
  (list "triton" (include "supersonic.triton.volumes" .) (include "supersonic.triton.volumeMounts" .)) }}
{{- include "supersonic.triton.containerErrors" .Values.triton }}
{{- include "supersonic.models.errors" . }}
{{- include "supersonic.triton.flagErrors" . }}
{{- $least := add .Values.triton.drain.sleepSeconds (include "supersonic.triton.exitTimeout" .) }}
{{- if le (include "supersonic.triton.gracePeriod" . | int64) $least }}
triton.terminationGracePeriodSeconds: must be above {{ $least }}, the sum of the drain ({{ int64 .Values.triton.drain.sleepSeconds }}) and Triton's exit timeout ({{ include "supersonic.triton.exitTimeout" . }}), got {{ include "supersonic.triton.gracePeriod" . }}
{{- end }}
{{- end -}}

{{- define "supersonic.triton.portErrors" -}}
{{- $names := list -}}
{{- range .Values.triton.service.ports }}{{ $names = append $names .name }}{{ end -}}
{{- range $name := list "http" "grpc" "metrics" }}
{{- if not (has $name $names) }}
triton.service.ports: must contain a port named {{ $name }}, got {{ join ", " $names | default "none" }}
{{- end }}
{{- end }}
{{- if ne (len $names) (len (uniq $names)) }}
triton.service.ports: must have unique names, got {{ join ", " $names }}
{{- end }}
{{- $taken := list }}
{{- range .Values.triton.service.ports }}
{{- $port := printf "%d/%s" (int64 .port) (get . "protocol" | default "TCP") }}
{{- if has $port $taken }}
triton.service.ports: must have unique ports, got {{ $port }} twice
{{- end }}
{{- $taken = append $taken $port }}
{{- with get . "nodePort" }}
triton.service.ports: must not have a nodePort, because the Service is headless, got {{ int64 . }}
{{- end }}
{{- end }}
{{- $probed := "" }}
{{- with get .Values.triton "startupProbe" }}{{ $probed = .httpGet.port }}{{ end }}
{{- if and $probed (kindIs "string" $probed) (not (has $probed $names)) }}
triton.startupProbe.httpGet.port: must be a number or a name in triton.service.ports, got {{ quote $probed }}
{{- end }}
{{- end -}}

{{- /* Takes the section triton. */ -}}
{{- define "supersonic.triton.containerErrors" -}}
{{- $section := . -}}
{{- $names := list "triton-server" -}}
{{- range $key := list "initContainers" "extraContainers" }}
{{- range $i, $container := get $section $key | default list }}
{{- if has $container.name $names }}
triton.{{ $key }}: must have names that are unique in the pod, got {{ quote $container.name }}
{{- end }}
{{- $names = append $names $container.name }}
{{- range get $container "ports" | default list }}
{{- if eq (get . "name" | toString) "metrics" }}
triton.{{ $key }}: must not have a port named metrics, which Prometheus would also scrape, got containerPort {{ get . "containerPort" }}
{{- end }}
{{- end }}
{{- include "supersonic.pods.resourceErrors" (list (printf "triton.%s[%d]" $key $i) (get $container "resources" | default dict)) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.triton.warnings" -}}
{{- $t := .Values.triton -}}
{{- include "supersonic.models.warnings" . }}
{{- include "supersonic.triton.podWarnings" . }}
{{- include "supersonic.triton.traceWarnings" . }}
{{- if not (include "supersonic.triton.startupIsProbed" .) }}
triton.startupProbe: without it, there is no liveness probe either, and a Triton that never answers is not restarted; failureThreshold × periodSeconds can give the models all the time that they need
{{- end }}
{{- include "supersonic.triton.flagWarnings" . }}
{{- if and (include "supersonic.triton.isScript" .) (not (include "supersonic.triton.isPlainScript" .)) }}
{{- if not (regexMatch "(^|[;&|\\s])exec\\s" (first $t.args)) }}
triton.args: the shell does not pass the termination signal to the server, which is killed after the grace period; put exec before the server's command
{{- end }}
{{- end }}
{{- if and .Values.envoy.enabled (lt (int64 $t.drain.sleepSeconds) 33) }}
triton.drain.sleepSeconds: should be at least 33, or calls may go to a replica that has exited: cluster DNS caches answers for up to 30s, and Envoy resolves every second, got {{ int64 $t.drain.sleepSeconds }}
{{- end }}
{{- end -}}

{{- /* Envoy and Triton decide independently which calls they trace. */ -}}
{{- define "supersonic.triton.traceWarnings" -}}
{{- $rate := regexFind "(^|[\\s=,])rate=[0-9]+" (join " " .Values.triton.args) | regexFind "[0-9]+" | int64 -}}
{{- $share := .Values.envoy.tracing_sampling_rate -}}
{{- if and .Values.envoy.enabled (or (index .Values "opentelemetry-collector").enabled .Values.envoy.tracing.host) (gt $rate 0) }}
{{- if or (lt (mulf $rate $share) 0.99) (gt (mulf $rate $share) 1.01) }}
envoy.tracing_sampling_rate: should be the inverse of rate={{ $rate }} in triton.args, or Envoy and Triton trace different requests, got {{ toJson $share }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.triton.podWarnings" -}}
{{- $t := .Values.triton -}}
{{- $user := get ($t.podSecurityContext | default dict) "runAsNonRoot" }}
{{- if and (not $user) (not (get ($t.securityContext | default dict) "runAsNonRoot")) }}
triton.podSecurityContext.runAsNonRoot: the server may run as root
{{- end }}
{{- $memory := get (get ($t.resources | default dict) "limits" | default dict) "memory" }}
{{- if and $t.shmSize $memory }}
{{- if gt (include "supersonic.pods.amount" $t.shmSize | float64) (include "supersonic.pods.amount" $memory | float64) }}
triton.shmSize: {{ $t.shmSize }} exceeds the memory limit of {{ $memory }}, which it counts toward
{{- end }}
{{- end }}
{{- end -}}
