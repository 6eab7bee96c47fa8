{{- /*
Every name of an object comes from here. The instance is nameOverride or the
release's name; a component's object is <instance>-<component>, at most 63
characters: a longer one keeps its component and a digest of the instance, so
that two long names never become one.
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

{{- /* The imagePullSecrets of a pod as a YAML list, from names or from objects with a name; nothing where there are none. */ -}}
{{- define "supersonic.names.pullSecrets" -}}
{{- range .Values.imagePullSecrets }}
- name: {{ kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name") | quote }}
{{- end }}
{{- end -}}

{{- /* Faults of the instance's name, one a line. */ -}}
{{- define "supersonic.names.faults" -}}
{{- $instance := include "supersonic.names.instance" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $instance) }}
{{- if .Values.nameOverride }}
nameOverride: must be a letter, then letters, digits and dashes, all lower case and no dash at the end, got {{ quote $instance }}
{{- else }}
release name: must be a letter, then letters, digits and dashes for the names of Services, got {{ quote $instance }}; set nameOverride to another
{{- end }}
{{- else if gt (len $instance) 63 }}
nameOverride: must be at most 63 characters, got {{ len $instance }}
{{- end }}
{{- end -}}
