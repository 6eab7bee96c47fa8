{{- /* What the monitoring pods have in common. */ -}}

{{- /* Takes a list: the root context, a section with nodeSelector, tolerations and affinity. */ -}}
{{- define "supersonic.prometheus.placement" -}}
{{- $p := dict -}}
{{- with include "supersonic.names.pullSecrets" (first .) | fromYamlArray }}{{ $_ := set $p "imagePullSecrets" . }}{{ end -}}
{{- $section := last . -}}
{{- range list "nodeSelector" "tolerations" "affinity" -}}
{{- if get $section . }}{{ $_ := set $p . (get $section .) }}{{ end -}}
{{- end -}}
{{- if $p }}{{ toYaml $p }}{{ end -}}
{{- end -}}

{{- /*
Takes a dict: root, name and component of the object, ingress (the section: class,
annotations, tls), hosts, paths, pathType, service (its port is named http).
*/ -}}
{{- define "supersonic.prometheus.ingress" -}}
{{- $d := . -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "supersonic.names.component" (list .root .name) }}
  namespace: {{ quote .root.Release.Namespace }}
  labels:
    {{- include "supersonic.labels.object" (list .root .component) | nindent 4 }}
  {{- with .ingress.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.ingressClassName }}
  ingressClassName: {{ quote . }}
  {{- end }}
  {{- $tls := .ingress.tls }}
  {{- if kindIs "invalid" $tls }}{{ $tls = list (dict "hosts" .hosts) }}{{ end }}
  {{- if $tls }}
  tls:
    {{- range $tls }}
    - hosts:
        {{- toYaml (default $d.hosts (get . "hosts")) | nindent 8 }}
      {{- with get . "secretName" }}
      secretName: {{ quote . }}
      {{- end }}
    {{- end }}
  {{- end }}
  rules:
    {{- range .hosts }}
    - host: {{ quote . }}
      http:
        paths:
          {{- range $d.paths }}
          - path: {{ quote . }}
            pathType: {{ $d.pathType }}
            backend: {service: {name: {{ $d.service }}, port: {name: http}}}
          {{- end }}
    {{- end }}
{{- end -}}

{{- /*
A claim. Takes a dict: root, name and component of the object, volume (a section
with size, accessModes), class.
*/ -}}
{{- define "supersonic.prometheus.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ include "supersonic.names.component" (list .root .name) }}
  namespace: {{ quote .root.Release.Namespace }}
  labels:
    {{- include "supersonic.labels.object" (list .root .component) | nindent 4 }}
spec:
  accessModes:
    {{- toYaml .volume.accessModes | nindent 4 }}
  {{- with .class }}
  storageClassName: {{ quote . }}
  {{- end }}
  resources:
    requests: {storage: {{ toJson .volume.size }}}
{{- end -}}
