{{- /*
Calls need a token (JWT) from one of the providers. The keys of each provider are
fetched in the background over verified TLS, starting with Envoy.
*/ -}}

{{- /*
The providers as a JSON list of {name, cluster, issuer, audiences, uri, host, port,
claims, requireExpiration, caSecretName, caKey}. jwt_issuer and the keys next to it are one of them, named
"default".
*/ -}}
{{- define "supersonic.envoy.providers" -}}
{{- $providers := list -}}
{{- $auth := .Values.envoy.auth -}}
{{- if $auth.enabled -}}
{{- if $auth.jwt_issuer -}}
{{- $host := regexReplaceAll "^[a-z]+://" $auth.url "" | default (urlParse $auth.jwt_remote_jwks_uri).hostname -}}
{{- $providers = append $providers (dict "name" "default" "cluster" "auth_cluster" "issuer" $auth.jwt_issuer
  "audiences" $auth.audiences "uri" $auth.jwt_remote_jwks_uri "host" $host "port" $auth.port
  "claims" list "requireExpiration" $auth.requireExpiration "caSecretName" "" "caKey" "") -}}
{{- end -}}
{{- range $auth.providers -}}
{{- $uri := urlParse .jwksUri -}}
{{- $port := regexFind ":[0-9]+$" $uri.host | trimPrefix ":" | default "443" -}}
{{- $ca := get . "ca" | default dict -}}
{{- $providers = append $providers (dict "name" .name "cluster" (printf "auth_cluster_%s" .name) "issuer" .issuer
  "audiences" (get . "audiences" | default list) "uri" .jwksUri "host" $uri.hostname "port" (int64 $port)
  "claims" (get . "claims" | default list)
  "requireExpiration" (hasKey . "requireExpiration" | ternary (get . "requireExpiration") $auth.requireExpiration)
  "caSecretName" (get $ca "secretName") "caKey" (get $ca "key" | default "ca.crt")) -}}
{{- end -}}
{{- end -}}
{{- toJson $providers -}}
{{- end -}}

{{- define "supersonic.envoy.authFilters" -}}
{{- $providers := include "supersonic.envoy.providers" . | fromJsonArray -}}
{{- if $providers }}
- name: envoy.filters.http.jwt_authn
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication
    providers:
      {{- range $providers }}
      {{ toJson .name }}:
        issuer: {{ toJson .issuer }}
        {{- with .audiences }}
        audiences: {{ toJson . }}
        {{- end }}
        {{- if .requireExpiration }}
        require_expiration: true
        {{- end }}
        from_headers: [{name: Authorization, value_prefix: "Bearer "}]
        payload_in_metadata: {{ toJson .name }}
        remote_jwks:
          http_uri: {uri: {{ toJson .uri }}, cluster: {{ .cluster }}, timeout: 5s}
          cache_duration: 300s
          async_fetch: {}
          retry_policy: {num_retries: 2}
      {{- end }}
    rules:
    {{- range include "supersonic.envoy.healthMethods" $ | fromJsonArray }}
    - match: {path: {{ . }}}
    {{- end }}
    - match: {prefix: /}
      requires:
        {{- if eq (len $providers) 1 }}
        provider_name: {{ (first $providers).name | toJson }}
        {{- else }}
        requires_any:
          requirements:
          {{- range $providers }}
          - provider_name: {{ toJson .name }}
          {{- end }}
        {{- end }}
{{- $rules := list }}
{{- range $providers }}{{ $rules = concat $rules .claims }}{{ end }}
{{- if $rules }}
{{ include "supersonic.envoy.claimFilter" (list . $providers) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Accepts a verified token if it satisfies every claim rule of its provider. Takes a list: the root context, the providers. */ -}}
{{- define "supersonic.envoy.claimFilter" -}}
- name: envoy.filters.http.rbac
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC
    rules:
      action: ALLOW
      policies:
        "health methods":
          permissions:
          {{- range include "supersonic.envoy.healthMethods" (first .) | fromJsonArray }}
          - url_path: {path: {exact: {{ . }}}}
          {{- end }}
          principals: [{any: true}]
        {{- range $provider := last . }}
        {{ toJson $provider.name }}:
          permissions: [{any: true}]
          principals:
          - and_ids:
              ids:
              {{- $issuer := dict "string_match" (dict "exact" $provider.issuer) }}
              - {{ include "supersonic.envoy.claim" (list $provider.name (list "iss") $issuer) }}
              {{- range $rule := $provider.claims }}
              - or_ids:
                  ids:
                  {{- with get $rule "methods" }}
                  - not_id:
                      or_ids:
                        ids:
                        {{- range . }}
                        - {{ include "supersonic.envoy.caller" . }}
                        {{- end }}
                  {{- end }}
                  {{- range $rule.values }}
                  {{- $exact := dict "string_match" (dict "exact" .) }}
                  - {{ include "supersonic.envoy.claim" (list $provider.name $rule.path $exact) }}
                  - {{ include "supersonic.envoy.claim" (list $provider.name $rule.path (dict "list_match" (dict "one_of" $exact))) }}
                  {{- end }}
              {{- end }}
        {{- end }}
{{- end -}}

{{- /* A principal: who calls a method; a path that ends in / stands for all below it. */ -}}
{{- define "supersonic.envoy.caller" -}}
{{- dict "url_path" (dict "path" (dict (hasSuffix "/" . | ternary "prefix" "exact") .)) | toJson -}}
{{- end -}}

{{- /* A principal: the claim at a path matches. Takes a list: provider, path, Envoy's value matcher. */ -}}
{{- define "supersonic.envoy.claim" -}}
{{- $path := list (dict "key" (index . 0)) -}}
{{- range index . 1 }}{{ $path = append $path (dict "key" .) }}{{ end -}}
{{- dict "sourced_metadata" (dict "metadata_matcher" (dict
  "filter" "envoy.filters.http.jwt_authn" "path" $path "value" (index . 2))) | toJson -}}
{{- end -}}

{{- define "supersonic.envoy.authClusters" -}}
{{- range include "supersonic.envoy.providers" . | fromJsonArray }}
- name: {{ .cluster }}
  connect_timeout: 5s
  {{- include "supersonic.envoy.dns" $ | nindent 2 }}
  {{- $sds := ternary (printf "%s/sds-jwks-%s.yaml" (include "supersonic.envoy.configDir" $) .name) "" (ne .caSecretName "") }}
  {{- include "supersonic.envoy.clientTLS" (dict "host" .host "sds" $sds) | nindent 2 }}
  load_assignment:
    cluster_name: {{ .cluster }}
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {socket_address: {address: {{ toJson .host }}, port_value: {{ int64 .port }}}}}
{{- end }}
{{- end -}}
