{{- /*
Certificates come from mounted Secrets. Envoy reloads them on rotation only through
a discovery file that watches their mounted folder. Those files contain paths but no
secrets, and are keys of the configuration's ConfigMap.
*/ -}}
{{- define "supersonic.envoy.configDir" -}}/etc/envoy/config{{- end -}}
{{- define "supersonic.envoy.secretsDir" -}}/etc/envoy/secrets{{- end -}}

{{- /* Downstream TLS, for clients. */ -}}
{{- define "supersonic.envoy.serverTLS" -}}
name: envoy.transport_sockets.tls
typed_config:
  "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
  common_tls_context:
    alpn_protocols: [h2, http/1.1]
    tls_params: {tls_minimum_protocol_version: TLSv1_2}
    tls_certificate_sds_secret_configs:
    - name: server
      sds_config:
        resource_api_version: V3
        path_config_source: {path: {{ include "supersonic.envoy.configDir" . }}/sds-server.yaml}
{{- end -}}

{{- /*
Upstream TLS, to a host: its certificate must be valid for that name and signed by
a CA that the image trusts, or by the one in the discovery file "sds".
Takes a dict: host, sds (a file's path or empty).
*/ -}}
{{- define "supersonic.envoy.clientTLS" -}}
transport_socket:
  name: envoy.transport_sockets.tls
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
    sni: {{ toJson .host }}
    common_tls_context:
      {{- if .sds }}
      combined_validation_context:
        default_validation_context:
          match_typed_subject_alt_names:
          - {san_type: DNS, matcher: {exact: {{ toJson .host }}}}
        validation_context_sds_secret_config:
          name: ca
          sds_config:
            resource_api_version: V3
            path_config_source: {path: {{ .sds }}}
      {{- else }}
      validation_context:
        trusted_ca: {filename: /etc/ssl/certs/ca-certificates.crt}
        match_typed_subject_alt_names:
        - {san_type: DNS, matcher: {exact: {{ toJson .host }}}}
      {{- end }}
{{- end -}}

{{- /* The discovery files, as a map from ConfigMap key to content. Takes the root context. */ -}}
{{- define "supersonic.envoy.discoveryFiles" -}}
{{- $files := dict -}}
{{- $secrets := include "supersonic.envoy.secretsDir" . -}}
{{- if .Values.envoy.tls.enabled -}}
{{- $dir := printf "%s/tls" $secrets -}}
{{- $certificate := dict
  "certificate_chain" (dict "filename" (printf "%s/tls.crt" $dir))
  "private_key" (dict "filename" (printf "%s/tls.key" $dir))
  "watched_directory" (dict "path" $dir) -}}
{{- $_ := set $files "sds-server.yaml" (include "supersonic.envoy.secret" (dict "name" "server" "tls_certificate" $certificate)) -}}
{{- end -}}
{{- range include "supersonic.envoy.providers" . | fromJsonArray -}}
{{- if .caSecretName -}}
{{- $dir := printf "%s/jwks-%s" $secrets .name -}}
{{- $context := dict
  "trusted_ca" (dict "filename" (printf "%s/%s" $dir .caKey))
  "watched_directory" (dict "path" $dir) -}}
{{- $secret := include "supersonic.envoy.secret" (dict "name" "ca" "validation_context" $context) -}}
{{- $_ := set $files (printf "sds-jwks-%s.yaml" .name) $secret -}}
{{- end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{- define "supersonic.envoy.secret" -}}
{{- $type := dict "@type" "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret" -}}
{{- dict "resources" (list (merge $type .)) | toYaml -}}
{{- end -}}
