{{- /* Scheduling, security and grace period of the pods. Takes the root context. */ -}}
{{- define "supersonic.envoy.podSpec" -}}
{{- $envoy := .Values.envoy -}}
{{- with include "supersonic.names.pullSecrets" . | trim }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with $envoy.serviceAccountName }}
serviceAccountName: {{ quote . }}
{{- end }}
automountServiceAccountToken: false
securityContext:
  {{- toYaml $envoy.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ include "supersonic.envoy.graceSeconds" . }}
{{- with $envoy.priorityClassName }}
priorityClassName: {{ quote . }}
{{- end }}
{{- with $envoy.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $envoy.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $envoy.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if kindIs "slice" $envoy.topologySpreadConstraints }}
{{- with $envoy.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- else if include "supersonic.envoy.several" . }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "supersonic.labels.selector" (list . "envoy") | nindent 8 }}
{{- end }}
{{- end -}}

{{- define "supersonic.envoy.graceSeconds" -}}
{{- $given := .Values.envoy.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}
{{- add (int64 .Values.envoy.drain.seconds) 15 -}}
{{- else -}}
{{- int64 $given -}}
{{- end -}}
{{- end -}}

{{- define "supersonic.envoy.container" -}}
{{- $envoy := .Values.envoy -}}
image: {{ quote $envoy.image }}
{{- with $envoy.imagePullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
command: [envoy]
args:
  {{- range include "supersonic.envoy.args" . | fromJsonArray }}
  - {{ quote . }}
  {{- end }}
env:
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  {{- if include "supersonic.envoy.traced" . }}
  - name: OTEL_RESOURCE_ATTRIBUTES
    value: service.name=$(POD_NAME)
  {{- end }}
  {{- with $envoy.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - {name: grpc, containerPort: {{ include "supersonic.envoy.grpcTargetPort" . }}}
  - {name: stats, containerPort: {{ include "supersonic.envoy.statsPort" . }}}
  {{- if eq $envoy.drain.method "hook" }}
  - {name: drain, containerPort: {{ int64 $envoy.drain.port }}}
  {{- end }}
startupProbe:
  httpGet: {path: /ready, port: stats}
  periodSeconds: 1
  failureThreshold: 120
readinessProbe:
  httpGet: {path: /ready, port: stats}
  periodSeconds: 5
livenessProbe:
  httpGet: {path: /ready, port: stats}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 6
lifecycle:
  preStop:
    {{- if eq $envoy.drain.method "hook" }}
    httpGet:
      path: /drain
      port: drain
      httpHeaders: [{name: x-supersonic-drain, value: stop}]
    {{- else }}
    sleep: {seconds: {{ int64 $envoy.drain.seconds }}}
    {{- end }}
resources:
  {{- toYaml $envoy.resources | nindent 2 }}
securityContext:
  {{- toYaml $envoy.securityContext | nindent 2 }}
volumeMounts:
  {{- include "supersonic.envoy.mounts" . | trim | nindent 2 }}
{{- end -}}

{{- /* Envoy's arguments as a JSON list: ours, then the user's. */ -}}
{{- define "supersonic.envoy.args" -}}
{{- $envoy := .Values.envoy -}}
{{- $args := list -}}
{{- if include "supersonic.envoy.external" . -}}
{{- $merged := include "supersonic.envoy.merged" . | fromYaml | toJson | replace "$(" "$$(" -}}
{{- $args = list "--config-path" (printf "/etc/envoy/external/%s" (include "supersonic.envoy.externalKey" .)) "--config-yaml" $merged -}}
{{- else -}}
{{- $args = list "--config-path" (printf "%s/envoy.yaml" (include "supersonic.envoy.configDir" .)) -}}
{{- end -}}
{{- $args = concat $args (list
  "--service-cluster" (include "supersonic.names.instance" .)
  "--service-node" "$(POD_NAME)"
  "--disable-hot-restart") -}}
{{- $given := include "supersonic.envoy.userArgs" . | fromJsonArray -}}
{{- $workers := include "supersonic.envoy.workers" . -}}
{{- if and $workers (not (regexMatch "(^| )--concurrency" (join " " $given))) -}}
{{- $args = concat $args (list "--concurrency" $workers) -}}
{{- end -}}
{{- concat $args $given | toJson -}}
{{- end -}}

{{- /*
envoy.args as a JSON list of words. --config-path /etc/envoy/envoy.yaml, which
values for earlier versions contain, is dropped, because it is the default.
*/ -}}
{{- define "supersonic.envoy.userArgs" -}}
{{- $words := list -}}
{{- range .Values.envoy.args -}}
{{- if regexMatch "^-[^ =]+ " . -}}
{{- $flag := regexFind "^[^ ]+" . -}}
{{- $words = concat $words (list $flag (trimPrefix (printf "%s " $flag) .)) -}}
{{- else -}}
{{- $words = append $words . -}}
{{- end -}}
{{- end -}}
{{- $kept := list -}}
{{- $skip := false -}}
{{- range $i, $word := $words -}}
{{- $next := "" -}}
{{- if lt (add1 $i) (len $words) }}{{ $next = index $words (add1 $i) }}{{ end -}}
{{- if $skip -}}
{{- $skip = false -}}
{{- else if and (has $word (list "--config-path" "-c")) (eq $next "/etc/envoy/envoy.yaml") -}}
{{- $skip = true -}}
{{- else if ne $word "--config-path=/etc/envoy/envoy.yaml" -}}
{{- $kept = append $kept $word -}}
{{- end -}}
{{- end -}}
{{- toJson $kept -}}
{{- end -}}

{{- /* Worker threads: the CPU limit, rounded up, because Envoy would start one per core of the node. */ -}}
{{- define "supersonic.envoy.workers" -}}
{{- $limit := dig "limits" "cpu" "" .Values.envoy.resources | toString -}}
{{- if $limit -}}
{{- include "supersonic.pods.amount" $limit | float64 | ceil | int64 -}}
{{- end -}}
{{- end -}}

{{- define "supersonic.envoy.externalKey" -}}
{{- .Values.envoy.external_config.configmap_key | default "envoy.yaml" -}}
{{- end -}}

{{- /* The volume mounts, a YAML list; "supersonic.envoy.volumes" has the volumes. */ -}}
{{- define "supersonic.envoy.mounts" -}}
{{- $secrets := include "supersonic.envoy.secretsDir" . -}}
{{- if include "supersonic.envoy.external" . }}
- {name: external, mountPath: /etc/envoy/external, readOnly: true}
{{- if include "supersonic.envoy.ownTmp" . }}
- {name: tmp, mountPath: /tmp}
{{- end }}
{{- else }}
- {name: config, mountPath: {{ include "supersonic.envoy.configDir" . }}, readOnly: true}
{{- end }}
{{- if .Values.envoy.tls.enabled }}
- {name: tls, mountPath: {{ $secrets }}/tls, readOnly: true}
{{- end }}
{{- range include "supersonic.envoy.providers" . | fromJsonArray }}
{{- if .caSecretName }}
- {name: jwks-{{ .name }}, mountPath: {{ $secrets }}/jwks-{{ .name }}, readOnly: true}
{{- end }}
{{- end }}
{{- if include "supersonic.gate.enabled" . }}
- {name: gate, mountPath: {{ (include "supersonic.gate.settings" . | fromJson).directory }}, readOnly: true}
{{- with include "supersonic.prometheus.volumeMount" . }}
{{ . }}
{{- end }}
{{- end }}
{{- with .Values.envoy.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* "true" if a custom configuration gets a place for the files that it may write, such as the admin interface's log. */ -}}
{{- define "supersonic.envoy.ownTmp" -}}
{{- $tmp := include "supersonic.envoy.external" . -}}
{{- range .Values.envoy.extraVolumeMounts -}}
{{- if eq (get . "mountPath" | toString | trimSuffix "/") "/tmp" }}{{ $tmp = "" }}{{ end -}}
{{- end -}}
{{- $tmp -}}
{{- end -}}

{{- define "supersonic.envoy.volumes" -}}
{{- if include "supersonic.envoy.external" . }}
- name: external
  configMap: {name: {{ quote .Values.envoy.external_config.configmap_name }}}
{{- if include "supersonic.envoy.ownTmp" . }}
- name: tmp
  emptyDir: {}
{{- end }}
{{- else }}
- name: config
  configMap: {name: {{ include "supersonic.names.component" (list . "envoy-config") }}}
{{- end }}
{{- if .Values.envoy.tls.enabled }}
- name: tls
  secret: {secretName: {{ quote .Values.envoy.tls.secretName }}, defaultMode: 0440}
{{- end }}
{{- range include "supersonic.envoy.providers" . | fromJsonArray }}
{{- if .caSecretName }}
- name: jwks-{{ .name }}
  secret: {secretName: {{ quote .caSecretName }}}
{{- end }}
{{- end }}
{{- if include "supersonic.gate.enabled" . }}
- name: gate
  configMap: {name: {{ include "supersonic.names.component" (list . "lua-config") }}}
{{- with include "supersonic.prometheus.volume" . }}
{{ . }}
{{- end }}
{{- end }}
{{- with .Values.envoy.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
