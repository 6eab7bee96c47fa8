{{- /* The public host of Grafana, or empty. */ -}}
{{- define "supersonic.grafana.hosts" -}}
{{- $ingress := .Values.grafana.ingress -}}
{{- default (list $ingress.hostName | compact) $ingress.hosts | toYaml -}}
{{- end -}}

{{- /*
grafana.ini as a map: the user's settings merged over the chart's. Without a Secret
there is no administrator, and nobody can log in.
*/ -}}
{{- define "supersonic.grafana.ini" -}}
{{- $secret := .Values.grafana.admin.existingSecret -}}
{{- $security := dict "disable_initial_admin_creation" true -}}
{{- if $secret -}}
{{- $security = dict "admin_user" "$__file{/etc/grafana-admin/user}" "admin_password" "$__file{/etc/grafana-admin/password}" -}}
{{- end -}}
{{- $own := dict
  "analytics" (dict "reporting_enabled" false "check_for_updates" false "check_for_plugin_updates" false)
  "plugins" (dict "preinstall_disabled" true "plugin_admin_enabled" false)
  "log" (dict "mode" "console")
  "users" (dict "allow_sign_up" false)
  "security" $security
  "auth" (dict "disable_login_form" (empty $secret))
  "auth.basic" (dict "enabled" (not (empty $secret)))
  "dashboards" (dict "default_home_dashboard_path" "/var/lib/grafana/dashboards/default/default.json") -}}
{{- $ini := mustMergeOverwrite $own (deepCopy (index .Values.grafana "grafana.ini")) -}}
{{- $hosts := include "supersonic.grafana.hosts" . | fromYamlArray -}}
{{- if and .Values.grafana.ingress.enabled $hosts (not $ini.server.root_url) -}}
{{- $ingress := .Values.grafana.ingress -}}
{{- $scheme := ternary "https" "http" (or (kindIs "invalid" $ingress.tls) (not (empty $ingress.tls))) -}}
{{- $_ := set $ini.server "root_url" (printf "%s://%s%s" $scheme (first $hosts) $ingress.path) -}}
{{- end -}}
{{- toYaml $ini -}}
{{- end -}}

{{- /* The sections of grafana.ini; empty values are left to Grafana. */ -}}
{{- define "supersonic.grafana.iniText" -}}
{{- range $section, $keys := include "supersonic.grafana.ini" . | fromYaml }}
[{{ $section }}]
{{- range $key, $value := $keys }}
{{- if ne (toString $value) "" }}
{{ $key }} = {{ toString $value | replace "\n" " " }}
{{- end }}
{{- end }}
{{ end }}
{{- end -}}

{{- /* Grafana would read a dollar sign as the start of a variable. */ -}}
{{- define "supersonic.grafana.literal" -}}
{{- toString . | replace "$" "$$" -}}
{{- end -}}

{{- /* Data sources in Grafana's provisioning format. */ -}}
{{- define "supersonic.grafana.datasources" -}}
{{- $own := index .Values.grafana.datasources "datasources.yaml" -}}
{{- $all := list -}}
{{- if get $own "datasources" -}}
{{- range $own.datasources -}}
{{- $all = append $all (merge (deepCopy .) (dict "uid" .name)) -}}
{{- end -}}
{{- else -}}
{{- if include "supersonic.prometheus.available" . -}}
{{- $all = append $all (include "supersonic.grafana.prometheus" . | fromYaml) -}}
{{- end -}}
{{- if .Values.tempo.enabled -}}
{{- $all = append $all (dict "name" "tempo" "uid" "tempo" "type" "tempo" "access" "proxy" "editable" false
  "url" (printf "http://%s:3100" (include "supersonic.names.component" (list . "tempo")))
  "jsonData" (dict "serviceMap" (dict "datasourceUid" "prometheus") "nodeGraph" (dict "enabled" true))) -}}
{{- end -}}
{{- end -}}
{{- dict "apiVersion" 1 "datasources" $all | toYaml -}}
{{- end -}}

{{- /* Prometheus as a data source; secrets are read from the mounted files. */ -}}
{{- define "supersonic.grafana.prometheus" -}}
{{- $a := include "supersonic.prometheus.address" . | fromJson -}}
{{- $json := dict "httpMethod" "POST" -}}
{{- $secure := dict -}}
{{- with include "supersonic.prometheus.scrapeInterval" . }}{{ $_ := set $json "timeInterval" . }}{{ end -}}
{{- with $a.queryString }}{{ $_ := set $json "customQueryParameters" (include "supersonic.grafana.literal" .) }}{{ end -}}
{{- if $a.insecureSkipVerify }}{{ $_ := set $json "tlsSkipVerify" true }}{{ end -}}
{{- if and $a.serverName (ne $a.serverName $a.host) }}{{ $_ := set $json "serverName" $a.serverName }}{{ end -}}
{{- if $a.caFile -}}
{{- $_ := set $json "tlsAuthWithCACert" true -}}
{{- $_ := set $secure "tlsCACert" (printf "$__file{%s}" $a.caFile) -}}
{{- end -}}
{{- $n := 0 -}}
{{- range $name, $value := $a.headers -}}
{{- $n = add1 $n -}}
{{- $_ := set $json (printf "httpHeaderName%d" $n) $name -}}
{{- $_ := set $secure (printf "httpHeaderValue%d" $n) (include "supersonic.grafana.literal" $value) -}}
{{- end -}}
{{- $source := dict "name" "prometheus" "uid" "prometheus" "type" "prometheus" "access" "proxy" "isDefault" true "editable" false
  "url" (include "supersonic.prometheus.url" .) -}}
{{- if eq $a.auth.type "bearer" -}}
{{- $n = add1 $n -}}
{{- $_ := set $json (printf "httpHeaderName%d" $n) "Authorization" -}}
{{- $_ := set $secure (printf "httpHeaderValue%d" $n) (printf "Bearer $__file{%s}" $a.auth.bearerFile) -}}
{{- else if eq $a.auth.type "basic" -}}
{{- $_ := set $source "basicAuth" true -}}
{{- $_ := set $source "basicAuthUser" (printf "$__file{%s}" $a.auth.usernameFile) -}}
{{- $_ := set $secure "basicAuthPassword" (printf "$__file{%s}" $a.auth.passwordFile) -}}
{{- end -}}
{{- $_ := set $source "jsonData" $json -}}
{{- if $secure }}{{ $_ := set $source "secureJsonData" $secure }}{{ end -}}
{{- toYaml $source -}}
{{- end -}}

{{- define "supersonic.grafana.providers" -}}
{{- $own := index .Values.grafana.dashboardProviders "dashboardproviders.yaml" -}}
{{- if get $own "providers" -}}
{{- toYaml $own -}}
{{- else -}}
apiVersion: 1
providers:
  - name: default
    orgId: 1
    folder: ""
    type: file
    disableDeletion: true
    editable: true
    options: {path: /var/lib/grafana/dashboards/default}
{{- end -}}
{{- end -}}

{{- define "supersonic.grafana.errors" -}}
{{- $g := .Values.grafana -}}
{{- if $g.enabled }}
{{- if $g.adminPassword }}
grafana.adminPassword: must be empty: put the password into a Secret and name it in grafana.admin.existingSecret
{{- end }}
{{- if not (has $g.adminUser (list "" "admin")) }}
grafana.adminUser: must be empty: put the name into the Secret of grafana.admin.existingSecret, got {{ quote $g.adminUser }}
{{- end }}
{{- include "supersonic.grafana.loginErrors" $g }}
{{- include "supersonic.prometheus.claimErrors" (list "grafana.persistence" $g.persistence) }}
{{- $anonymous := index $g "grafana.ini" "auth.anonymous" }}
{{- if not (has $anonymous.org_role (list "Viewer" "Editor")) }}
grafana."grafana.ini"."auth.anonymous".org_role: must be Viewer or Editor, got {{ $anonymous.org_role }}
{{- end }}
{{- if and (not $anonymous.enabled) (not $g.admin.existingSecret) }}
grafana.admin.existingSecret: must name a Secret if "grafana.ini"."auth.anonymous".enabled is false, or nobody can view the dashboards
{{- end }}
{{- if not (or (include "supersonic.prometheus.available" .) (get (index $g.datasources "datasources.yaml") "datasources")) }}
grafana.enabled: requires a Prometheus: set prometheus.enabled, or prometheus.external.enabled and prometheus.external.url
{{- end }}
{{- range $i, $source := get (index $g.datasources "datasources.yaml") "datasources" | default list }}
{{- if and (has $source.type (list "prometheus" "tempo")) (not (regexMatch "^https?://." (toString $source.url))) }}
grafana.datasources."datasources.yaml".datasources[{{ $i }}].url: must start with http:// or https://, or leave "datasources.yaml" empty to use this release's Prometheus and Tempo, got {{ quote $source.url }}
{{- end }}
{{- end }}
{{- $dashboards := include "supersonic.names.component" (list . "grafana-default-dashboard") }}
{{- if not (has $g.dashboardsConfigMaps.default (list "" $dashboards)) }}
grafana.dashboardsConfigMaps.default: must be empty, because the chart creates the ConfigMap {{ $dashboards }}, got {{ quote $g.dashboardsConfigMaps.default }}
{{- end }}
{{- if and $g.ingress.enabled (not (or $g.ingress.hosts $g.ingress.hostName)) }}
grafana.ingress.hosts: must name a host, got none
{{- end }}
{{- end }}
{{- end -}}

{{- /* Logins that bypass the Secret, through the user's grafana.ini. Takes the section grafana. */ -}}
{{- define "supersonic.grafana.loginErrors" -}}
{{- $ini := index . "grafana.ini" -}}
{{- $instead := dict
  "admin_user" "put the name into a Secret and name it in grafana.admin.existingSecret"
  "admin_password" "put the password into a Secret and name it in grafana.admin.existingSecret"
  "disable_initial_admin_creation" "only grafana.admin.existingSecret creates an administrator" }}
{{- range $key, $way := $instead }}
{{- if hasKey (get $ini "security" | default dict) $key }}
grafana."grafana.ini".security.{{ $key }}: must not be set: {{ $way }}
{{- end }}
{{- end }}
{{- if not .admin.existingSecret }}
{{- if not (dig "auth" "disable_login_form" true $ini) }}
grafana."grafana.ini".auth.disable_login_form: must be true without grafana.admin.existingSecret, which provides the only login, got false
{{- end }}
{{- if dig "auth.basic" "enabled" false $ini }}
grafana."grafana.ini"."auth.basic".enabled: must be false without grafana.admin.existingSecret, which provides the only login, got true
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.grafana.warnings" -}}
{{- $g := .Values.grafana -}}
{{- $anonymous := index $g "grafana.ini" "auth.anonymous" -}}
{{- if and $g.enabled $anonymous.enabled (eq $anonymous.org_role "Editor") }}
grafana."grafana.ini"."auth.anonymous".org_role: anyone who can reach Grafana can change its dashboards
{{- end }}
{{- $address := include "supersonic.prometheus.address" . | fromJson -}}
{{- if and $g.enabled $anonymous.enabled $g.ingress.enabled (ne $address.auth.type "none") }}
grafana.ingress.enabled: anyone who can reach the host queries Prometheus with the release's credentials (prometheus.external.auth): set "grafana.ini"."auth.anonymous".enabled to false, or add authentication to the Ingress
{{- end }}
{{- if and $g.enabled (eq (include "supersonic.prometheus.kind" .) "external") }}
{{- include "supersonic.grafana.sourceWarnings" . }}
{{- end }}
{{- end -}}

{{- /* The dashboards show what KEDA and the gate see if one of the data sources is the same Prometheus. */ -}}
{{- define "supersonic.grafana.sourceWarnings" -}}
{{- $wanted := include "supersonic.prometheus.url" . -}}
{{- $different := dict -}}
{{- $same := false -}}
{{- range $i, $source := get (index .Values.grafana.datasources "datasources.yaml") "datasources" | default list -}}
{{- if eq $source.type "prometheus" -}}
{{- $url := get $source "url" | toString -}}
{{- if eq $wanted (include "supersonic.grafana.withPort" $url) -}}
{{- $same = true -}}
{{- else -}}
{{- $_ := set $different (toString $i) $url -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $same }}
{{- range $i, $url := $different }}
grafana.datasources."datasources.yaml".datasources[{{ $i }}].url: differs from prometheus.external ({{ $wanted }}), so the dashboards do not show what KEDA and the gate read; leave "datasources.yaml" empty to use prometheus.external, got {{ $url }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A URL with its port, and without a slash at its end. */ -}}
{{- define "supersonic.grafana.withPort" -}}
{{- $url := trimSuffix "/" . -}}
{{- if not (regexMatch "^https?://[^/]*:[0-9]+(/|$)" $url) -}}
{{- $url = regexReplaceAll "^(https?://[^/]*)" $url (printf "${1}:%d" (ternary 443 80 (hasPrefix "https:" $url))) -}}
{{- end -}}
{{- $url -}}
{{- end -}}
