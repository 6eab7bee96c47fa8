{{- /*
Where Prometheus is and how to query it, for every consumer (KEDA, the gate,
Grafana, the collectors, NOTES). An external Prometheus takes precedence over the
embedded one, which the consumers reach through its Service, never its Ingress.

A pod that queries Prometheus mounts "supersonic.prometheus.volume", which contains
the files named in "supersonic.prometheus.address".
*/ -}}

{{- /* external, embedded, or empty. */ -}}
{{- define "supersonic.prometheus.kind" -}}
{{- if .Values.prometheus.external.enabled -}}external{{- else if .Values.prometheus.enabled -}}embedded{{- end -}}
{{- end -}}

{{- /* "true", or empty if there is no Prometheus. */ -}}
{{- define "supersonic.prometheus.available" -}}
{{- if include "supersonic.prometheus.kind" . -}}true{{- end -}}
{{- end -}}

{{- /* "true" if the embedded Prometheus runs. */ -}}
{{- define "supersonic.prometheus.embedded" -}}
{{- if eq (include "supersonic.prometheus.kind" .) "embedded" -}}true{{- end -}}
{{- end -}}

{{- /* Scheme, host, port, path and query in prometheus.external.url: groups 1 to 5. */ -}}
{{- define "supersonic.prometheus.urlPattern" -}}
{{- $host := `\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z](?:[-._0-9A-Za-z]*[0-9A-Za-z])?` -}}
{{- $path := `(?:/[-._~%0-9A-Za-z]+)*` -}}
{{- $parameter := `[-._~0-9A-Za-z]+=[-._~0-9A-Za-z]*` -}}
{{- printf `^(?:(https?)://)?(%s)(?::([0-9]{1,5}))?(%s)/?(?:\?(%[3]s(?:&%[3]s)*))?$` $host $path $parameter -}}
{{- end -}}

{{- /* One group of the external URL. Takes a list: the root context, the group's number. */ -}}
{{- define "supersonic.prometheus.urlGroup" -}}
{{- $pattern := include "supersonic.prometheus.urlPattern" (first .) -}}
{{- $url := (first .).Values.prometheus.external.url -}}
{{- if regexMatch $pattern $url }}{{ regexReplaceAll $pattern $url (printf "${%d}" (last .)) }}{{ end -}}
{{- end -}}

{{- /*
JSON: scheme, host (an IPv6 address without brackets), port, path (of the prefix, no slash at its end), serverName
(for SNI and verification; empty with http), caFile (empty: the system's
authorities), insecureSkipVerify, auth (type none, bearer with bearerFile, or
basic with usernameFile and passwordFile), headers and queryParameters (name to value),
queryString (of the parameters, empty or a=b&c=d). The host is empty only
if there is no Prometheus or the values are invalid.
*/ -}}
{{- define "supersonic.prometheus.address" -}}
{{- $dir := include "supersonic.prometheus.clientDir" . -}}
{{- $a := dict
  "scheme" "http" "host" "" "port" 0 "path" "" "queryParameters" dict "queryString" ""
  "serverName" "" "caFile" "" "insecureSkipVerify" false
  "auth" (dict "type" "none") "headers" dict -}}
{{- $kind := include "supersonic.prometheus.kind" . -}}
{{- if eq $kind "embedded" -}}
{{- $_ := set $a "host" (include "supersonic.names.host" (list . "prometheus-server")) -}}
{{- $_ := set $a "port" (int .Values.prometheus.server.service.servicePort) -}}
{{- else if eq $kind "external" -}}
{{- $e := .Values.prometheus.external -}}
{{- $scheme := coalesce $e.scheme (include "supersonic.prometheus.urlGroup" (list . 1)) "https" -}}
{{- $host := include "supersonic.prometheus.urlGroup" (list . 2) | trimAll "[]" -}}
{{- $_ := set $a "scheme" $scheme -}}
{{- $_ := set $a "host" $host -}}
{{- $port := coalesce $e.port (include "supersonic.prometheus.urlGroup" (list . 3)) (ternary 443 80 (eq $scheme "https")) -}}
{{- $_ := set $a "port" (int $port) -}}
{{- $path := coalesce $e.path (include "supersonic.prometheus.urlGroup" (list . 4)) -}}
{{- $_ := set $a "path" (ternary "" (printf "/%s" (trimAll "/" (toString $path))) (empty $path)) -}}
{{- if eq $scheme "https" -}}
{{- $_ := set $a "serverName" (coalesce $e.tls.serverName $host) -}}
{{- $_ := set $a "insecureSkipVerify" $e.tls.insecureSkipVerify -}}
{{- if or $e.tls.caSecret.name $e.tls.caConfigMap.name -}}
{{- $_ := set $a "caFile" (printf "%s/ca.crt" $dir) -}}
{{- end -}}
{{- end -}}
{{- if $e.auth.bearerTokenSecret.name -}}
{{- $_ := set $a "auth" (dict "type" "bearer" "bearerFile" (printf "%s/token" $dir)) -}}
{{- else if $e.auth.basicAuthSecret.name -}}
{{- $_ := set $a "auth" (dict "type" "basic" "usernameFile" (printf "%s/username" $dir) "passwordFile" (printf "%s/password" $dir)) -}}
{{- end -}}
{{- $_ := set $a "headers" $e.headers -}}
{{- $parameters := get $e "queryParameters" | default dict | deepCopy -}}
{{- range include "supersonic.prometheus.urlGroup" (list . 5) | splitList "&" | compact -}}
{{- $_ := set $parameters (splitList "=" . | first) (splitList "=" . | last) -}}
{{- end -}}
{{- $pairs := list -}}
{{- range $name, $value := $parameters }}{{ $pairs = append $pairs (printf "%s=%s" (urlquery $name) (urlquery $value)) }}{{ end -}}
{{- $_ := set $a "queryParameters" $parameters -}}
{{- $_ := set $a "queryString" (join "&" $pairs) -}}
{{- end -}}
{{- toJson $a -}}
{{- end -}}

{{- /* scheme://host:port/prefix, without a trailing slash; empty if there is no Prometheus. */ -}}
{{- define "supersonic.prometheus.url" -}}
{{- $a := include "supersonic.prometheus.address" . | fromJson -}}
{{- $host := ternary (printf "[%s]" $a.host) $a.host (contains ":" $a.host) -}}
{{- if $host }}{{ printf "%s://%s:%d%s" $a.scheme $host (int $a.port) $a.path }}{{ end -}}
{{- end -}}

{{- define "supersonic.prometheus.clientDir" -}}/etc/prometheus-client{{- end -}}

{{- /*
The volume with the CA and the credentials of an external Prometheus, a list of
one, or empty if there are none. It is mounted as prometheus-client at
"supersonic.prometheus.clientDir".
*/ -}}
{{- define "supersonic.prometheus.volume" -}}
{{- $e := .Values.prometheus.external -}}
{{- $sources := list -}}
{{- if eq (include "supersonic.prometheus.kind" .) "external" -}}
{{- if $e.tls.caSecret.name -}}
{{- $items := list (dict "key" $e.tls.caSecret.key "path" "ca.crt") -}}
{{- $sources = append $sources (dict "secret" (dict "name" $e.tls.caSecret.name "items" $items)) -}}
{{- else if $e.tls.caConfigMap.name -}}
{{- $items := list (dict "key" $e.tls.caConfigMap.key "path" "ca.crt") -}}
{{- $sources = append $sources (dict "configMap" (dict "name" $e.tls.caConfigMap.name "items" $items)) -}}
{{- end -}}
{{- with $e.auth.bearerTokenSecret -}}
{{- if .name -}}
{{- $sources = append $sources (dict "secret" (dict "name" .name "items" (list (dict "key" .key "path" "token")))) -}}
{{- end -}}
{{- end -}}
{{- with $e.auth.basicAuthSecret -}}
{{- if .name -}}
{{- $items := list (dict "key" .usernameKey "path" "username") (dict "key" .passwordKey "path" "password") -}}
{{- $sources = append $sources (dict "secret" (dict "name" .name "items" $items)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $sources -}}
{{- toYaml (list (dict "name" "prometheus-client" "projected" (dict "sources" $sources))) -}}
{{- end -}}
{{- end -}}

{{- /* The mount of this volume, a list of one, or empty. */ -}}
{{- define "supersonic.prometheus.volumeMount" -}}
{{- if include "supersonic.prometheus.volume" . -}}
- name: prometheus-client
  mountPath: {{ include "supersonic.prometheus.clientDir" . }}
  readOnly: true
{{- end -}}
{{- end -}}

{{- /* The scrape interval of this release's pods, such as 15s; empty if unknown. */ -}}
{{- define "supersonic.prometheus.scrapeInterval" -}}
{{- $kind := include "supersonic.prometheus.kind" . -}}
{{- if eq $kind "embedded" -}}
{{- .Values.prometheus.server.global.scrape_interval -}}
{{- else if eq $kind "external" -}}
{{- coalesce .Values.prometheus.external.scrapeInterval .Values.prometheus.podMonitors.interval | default "" -}}
{{- end -}}
{{- end -}}

{{- /* "true" if KEDA queries an external Prometheus with an identity of its cloud. */ -}}
{{- define "supersonic.prometheus.podIdentity" -}}
{{- if and (eq (include "supersonic.prometheus.kind" .) "external") (get .Values.prometheus.external.auth "podIdentity") }}true{{ end -}}
{{- end -}}

{{- /* "true" if KEDA needs a TriggerAuthentication: KEDA uses a CA only together with an authentication mode. */ -}}
{{- define "supersonic.prometheus.kedaAuthenticates" -}}
{{- if .Values.keda.enabled -}}
{{- if or (include "supersonic.prometheus.volume" .) (include "supersonic.prometheus.podIdentity" .) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{- /* A map as KEDA reads it: a=b,c=d. */ -}}
{{- define "supersonic.prometheus.kedaMap" -}}
{{- $pairs := list -}}
{{- range $name, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $name (toString $value)) }}{{ end -}}
{{- join "," $pairs -}}
{{- end -}}

{{- /* Metadata of a KEDA trigger other than its query, all strings. */ -}}
{{- define "supersonic.prometheus.kedaMetadata" -}}
{{- $a := include "supersonic.prometheus.address" . | fromJson -}}
{{- $m := dict -}}
{{- if ne $a.auth.type "none" -}}
{{- $_ := set $m "authModes" $a.auth.type -}}
{{- else if $a.caFile -}}
{{- $_ := set $m "authModes" "custom" -}}
{{- end -}}
{{- with $a.headers }}{{ $_ := set $m "customHeaders" (include "supersonic.prometheus.kedaMap" .) }}{{ end -}}
{{- with $a.queryParameters }}{{ $_ := set $m "queryParameters" (include "supersonic.prometheus.kedaMap" .) }}{{ end -}}
{{- if include "supersonic.prometheus.podIdentity" . -}}
{{- with .Values.prometheus.external.auth.awsRegion }}{{ $_ := set $m "awsRegion" . }}{{ end -}}
{{- end -}}
{{- if $a.insecureSkipVerify -}}
{{- $_ := set $m "unsafeSsl" "true" -}}
{{- end -}}
{{- if $m }}{{ toYaml $m }}{{ end -}}
{{- end -}}

{{- /* The authenticationRef of a KEDA trigger, or empty. */ -}}
{{- define "supersonic.prometheus.kedaAuthenticationRef" -}}
{{- if include "supersonic.prometheus.kedaAuthenticates" . -}}
name: {{ include "supersonic.names.component" (list . "prometheus-auth") }}
{{- end -}}
{{- end -}}
