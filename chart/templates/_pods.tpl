{{- /* What the pods of all components have in common. */ -}}

{{- /* The security context of a pod or container, or an empty line. Takes podSecurityContext or securityContext. */ -}}
{{- define "supersonic.pods.security" -}}
{{- with . -}}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- /* Errors of the components that are rendered, one per line. */ -}}
{{- define "supersonic.pods.errors" -}}
{{- $sections := dict "triton" .Values.triton -}}
{{- if .Values.envoy.enabled }}{{ $_ := set $sections "envoy" .Values.envoy }}{{ end -}}
{{- if include "supersonic.prometheus.embedded" . }}{{ $_ := set $sections "prometheus.server" .Values.prometheus.server }}{{ end -}}
{{- if .Values.tempo.enabled }}{{ $_ := set $sections "tempo.tempo" .Values.tempo.tempo }}{{ end -}}
{{- range $key := list "grafana" "opentelemetry-collector" "metricsCollector" -}}
{{- $section := get $.Values $key -}}
{{- if $section.enabled }}{{ $_ := set $sections $key $section }}{{ end -}}
{{- end -}}
{{- range $key, $section := $sections }}
{{- include "supersonic.pods.resourceErrors" (list $key (get $section "resources" | default dict)) }}
{{- include "supersonic.pods.strategyErrors" (list $key (get $section "strategy" | default dict)) }}
{{- end }}
{{- end -}}

{{- /* Takes a list: the key of the component, its resources. */ -}}
{{- define "supersonic.pods.resourceErrors" -}}
{{- $at := printf "%s.resources" (first .) -}}
{{- $limits := get (last .) "limits" | default dict -}}
{{- range $name, $request := get (last .) "requests" | default dict }}
{{- $limit := get $limits $name }}
{{- $key := contains "." $name | ternary (quote $name) $name }}
{{- if include "supersonic.pods.isDevice" $name }}
{{- if not (hasKey $limits $name) }}
{{ $at }}.limits: must include {{ $name }} too, because Kubernetes requires a limit of devices that equals the request, got a request of {{ toJson $request }}
{{- else if ne (toString $limit) (toString $request) }}
{{ $at }}.requests: must request as many {{ $name }} as the limit ({{ toString $limit }}), got {{ toString $request }}
{{- end }}
{{- else if hasKey $limits $name }}
{{- if gt (include "supersonic.pods.amount" $request | float64) (include "supersonic.pods.amount" $limit | float64) }}
{{ $at }}.requests.{{ $key }}: must be at most {{ $at }}.limits.{{ $key }}, {{ kindIs "string" $limit | ternary $limit (toJson $limit) }}, got {{ kindIs "string" $request | ternary $request (toJson $request) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The replicas that a section sets; nothing if null, which may take the key away. */ -}}
{{- define "supersonic.pods.replicas" -}}
{{- $replicas := get . "replicas" -}}
{{- if not (or (kindIs "invalid" $replicas) (kindIs "string" $replicas)) }}{{ int64 $replicas }}{{ end -}}
{{- end -}}

{{- /* "true" if a resource is counted in devices, such as nvidia.com/gpu: a name with a domain that is not Kubernetes' own. */ -}}
{{- define "supersonic.pods.isDevice" -}}
{{- if regexMatch "^[^/]+/" (regexReplaceAll "^([^/]+\\.)?kubernetes\\.io/" . "") }}true{{ end -}}
{{- end -}}

{{- /* A Deployment's strategy as YAML. Recreate does not allow rollingUpdate, which the defaults contain. */ -}}
{{- define "supersonic.pods.strategy" -}}
{{- eq (get . "type") "Recreate" | ternary (dict "type" "Recreate") . | toYaml -}}
{{- end -}}

{{- /* Takes a list: the key of the component, its strategy. */ -}}
{{- define "supersonic.pods.strategyErrors" -}}
{{- $rolling := get (last .) "rollingUpdate" | default dict -}}
{{- $none := list "0" "0%" -}}
{{- $surge := get $rolling "maxSurge" | toString -}}
{{- $unavailable := get $rolling "maxUnavailable" | toString -}}
{{- if and (ne (get (last .) "type") "Recreate") (has $surge $none) (has $unavailable $none) }}
{{ first . }}.strategy.rollingUpdate: must have maxSurge or maxUnavailable above 0, or no pod is ever replaced, got {{ $surge }} and {{ $unavailable }}
{{- end }}
{{- end -}}

{{- /* The value of a Kubernetes quantity as a number, such as 0.5 for 500m. */ -}}
{{- define "supersonic.pods.amount" -}}
{{- $text := toString . -}}
{{- $factors := dict "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "m" 1e-3 "u" 1e-6 "n" 1e-9
  "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $suffix := regexFind "[a-zA-Z]+$" $text -}}
{{- mulf (trimSuffix $suffix $text | float64) (get $factors $suffix | default 1) -}}
{{- end -}}

{{- /* What users add to a pod's volumes. Takes a list: the key of the component, its volumes and its mounts as YAML. */ -}}
{{- define "supersonic.pods.volumeErrors" -}}
{{- $key := first . -}}
{{- $volumes := list -}}
{{- range index . 1 | fromYamlArray }}
{{- if has .name $volumes }}
{{ $key }}.extraVolumes: must have names that are unique in the pod, got {{ quote .name }}
{{- end }}
{{- $volumes = append $volumes .name }}
{{- end }}
{{- $paths := list -}}
{{- range last . | fromYamlArray }}
{{- $path := get . "mountPath" }}
{{- if not (has .name $volumes) }}
{{ $key }}.extraVolumeMounts: must name a volume of {{ $key }}.extraVolumes, got {{ quote .name }}
{{- end }}
{{- if has $path $paths }}
{{ $key }}.extraVolumeMounts: must have mountPaths that are unique in the container, got {{ quote $path }}
{{- end }}
{{- $paths = append $paths $path }}
{{- end }}
{{- end -}}
