{{- /*
All object names are defined here. The instance is nameOverride or the release
name; an object of a component is <instance>-<component>, at most 63 characters. A
longer name keeps its component and a digest of the instance, so that two long
names never collide.
*/ -}}
{{- define "supersonic.names.instance" -}}
{{- .Values.nameOverride | default .Release.Name -}}
{{- end -}}

{{- /* Takes a list: the root context, the component. */ -}}
{{- define "supersonic.names.component" -}}
{{- $instance := include "supersonic.names.instance" (first .) -}}
{{- $component := last . -}}
{{- $name := printf "%s-%s" $instance $component -}}
{{- if gt (len $name) 63 -}}
{{- $room := int (sub 53 (len $component)) -}}{{- /* beside two dashes and the digest */ -}}
{{- $name = printf "%s-%s-%s" (trunc $room $instance | trimSuffix "-") (sha256sum $instance | trunc 8) $component -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- /* Host of the Service of a component inside the cluster. Takes a list: the root context, the component. */ -}}
{{- define "supersonic.names.host" -}}
{{- include "supersonic.names.component" . }}.{{ (first .).Release.Namespace }}.svc.{{ (first .).Values.clusterDomain -}}
{{- end -}}

{{- /* The imagePullSecrets of a pod as a YAML list, from names or from objects with a name; empty if there are none. */ -}}
{{- define "supersonic.names.pullSecrets" -}}
{{- range .Values.imagePullSecrets }}
- name: {{ kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name") | quote }}
{{- end }}
{{- end -}}

{{- /* Errors of the instance's name, one per line. */ -}}
{{- define "supersonic.names.errors" -}}
{{- $instance := include "supersonic.names.instance" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $instance) }}
{{- if .Values.nameOverride }}
nameOverride: must start with a lowercase letter and contain only lowercase letters, digits and dashes, with no dash at the end, got {{ quote $instance }}
{{- else }}
release name: must start with a letter and contain only letters, digits and dashes, because Services are named after it, got {{ quote $instance }}; set nameOverride to use another name
{{- end }}
{{- else if gt (len $instance) 63 }}
nameOverride: must be at most 63 characters, got {{ len $instance }}
{{- end }}
{{- end -}}

{{- /* Configured addresses that point to a Service of another release, in values that were copied. */ -}}
{{- define "supersonic.names.warnings" -}}
{{- $urls := dict -}}
{{- if .Values.grafana.enabled -}}
{{- range $i, $source := get (index .Values.grafana.datasources "datasources.yaml") "datasources" | default list -}}
{{- $_ := set $urls (printf "grafana.datasources.\"datasources.yaml\".datasources[%d].url" $i) (get $source "url") -}}
{{- end -}}
{{- end -}}
{{- if .Values.tempo.enabled -}}
{{- $_ := set $urls "tempo.tempo.metricsGenerator.remoteWriteUrl" .Values.tempo.tempo.metricsGenerator.remoteWriteUrl -}}
{{- end -}}
{{- $otel := index .Values "opentelemetry-collector" -}}
{{- if $otel.enabled -}}
{{- range $name, $exporter := get ($otel.config | default dict) "exporters" | default dict -}}
{{- if kindIs "map" $exporter -}}
{{- $_ := set $urls (printf "opentelemetry-collector.config.exporters.%s.endpoint" $name) (get $exporter "endpoint") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $inNamespace := printf "^https?://([-a-z0-9]+)-(prometheus-server|tempo)(\\.%s(\\.svc.*)?)?(:|/|$)" .Release.Namespace -}}
{{- range $key, $url := $urls -}}
{{- $instance := regexReplaceAll (printf "%s.*" $inNamespace) (toString $url) "${1}" -}}
{{- $component := regexReplaceAll (printf "%s.*" $inNamespace) (toString $url) "${2}" -}}
{{- $own := include "supersonic.names.component" (list $ $component) -}}
{{- $this := include "supersonic.names.instance" $ -}}
{{- if and (regexMatch $inNamespace (toString $url)) (ne (printf "%s-%s" $instance $component) $own) }}
{{ $key }}: points to the {{ trimSuffix "-server" $component }} of release {{ $instance }}, not of {{ $this }}; remove it to use the one of this release, got {{ $url }}
{{- end }}
{{- end }}
{{- end -}}
