{{- /*
A dashboard with the expressions of these values: a target named after a query, or
after a number in the values, gets its expression here. The rest of the file is
unchanged, including placeholders in legends. Takes a list: the root context, the
file's name.
*/ -}}
{{- define "supersonic.grafana.dashboard" -}}
{{- $exprs := include "supersonic.grafana.exprs" (first .) | fromYaml -}}
{{- $dashboard := (first .).Files.Get (printf "files/dashboards/%s.json" (last .)) | fromJson -}}
{{- range $panel := $dashboard.panels -}}
{{- range $target := dig "targets" list $panel -}}
{{- with get $exprs $target.refId }}{{ $_ := set $target "expr" . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $instance := include "supersonic.names.instance" (first .) -}}
{{- $namespace := (first .).Release.Namespace -}}
{{- $current := dict "namespace" $namespace "release" $instance -}}
{{- range $variable := $dashboard.templating.list -}}
{{- with get $current $variable.name }}{{ $_ := set $variable "current" (dict "text" . "value" .) }}{{ end -}}
{{- end -}}
{{- /* Two releases may have their dashboards in one Grafana. */ -}}
{{- $_ := set $dashboard "uid" (printf "%s-%s" $dashboard.uid (printf "%s/%s" $namespace $instance | sha256sum | trunc 8)) -}}
{{- $_ := set $dashboard "title" (printf "%s: %s/%s" $dashboard.title $namespace $instance) -}}
{{- toPrettyJson $dashboard -}}
{{- end -}}

{{- /* Expressions by target name, for the release that the dashboard's variables select. */ -}}
{{- define "supersonic.grafana.exprs" -}}
{{- $picked := "namespace=\"$namespace\",release=\"$release\"" -}}
{{- $params := include "supersonic.scaling.params" . | fromJson -}}
{{- if not .Values.serverLoadSelector.envoy }}{{ $_ := set $params "envoySelector" $picked }}{{ end -}}
{{- if not .Values.serverLoadSelector.triton }}{{ $_ := set $params "tritonSelector" $picked }}{{ end -}}
{{- $exprs := dict -}}
{{- range $record := include "supersonic.promql.records" . | fromJsonArray -}}
{{- $_ := set $exprs (last $record) (include (printf "supersonic.promql.%s" (last $record)) $params) -}}
{{- end -}}
{{- $scaling := include "supersonic.scaling.scalingThreshold" . -}}
{{- $metric := default $exprs.neededReplicas .Values.serverLoadMetric -}}
{{- $_ := set $exprs "scalingMetric" $metric -}}
{{- $_ := set $exprs "scalingThreshold" (printf "vector(%s)" $scaling) -}}
{{- $_ := set $exprs "admissionThreshold" (printf "vector(%s)" (include "supersonic.scaling.admissionThreshold" .)) -}}
{{- $wanted := include "supersonic.grafana.wantedReplicas"
  (dict "root" . "metric" $metric "replicas" $exprs.replicas "wakeUp" $exprs.wakeUp) -}}
{{- $_ := set $exprs "wantedReplicas" $wanted -}}
{{- toYaml $exprs -}}
{{- end -}}

{{- /* Replicas that KEDA asks for. Takes a dict: root, and the queries metric, replicas and wakeUp. */ -}}
{{- define "supersonic.grafana.wantedReplicas" -}}
{{- $k := .root.Values.keda -}}
{{- $metric := printf "(%s)" .metric -}}
{{- if eq (include "supersonic.keda.metricType" .root) "Value" -}}
{{- $metric = printf "(%s) * on () (%s)" .metric .replicas -}}
{{- end -}}
{{- /* KEDA uses a minimum of 1 instead of 0 while there is work. */ -}}
{{- $least := include "supersonic.keda.min" .root | int64 | max 1 -}}
{{- $threshold := include "supersonic.scaling.scalingThreshold" .root -}}
{{- $atWork := printf "clamp(ceil(%s / %s), %d, %d)" $metric $threshold $least (int64 $k.maxReplicaCount) -}}
{{- $active := printf "((%s) > bool %s)" .metric (toJson $k.activationThreshold) -}}
{{- if not $k.enabled -}}
{{- /* An autoscaler of the user's own wants what only it knows. */ -}}
{{- with include "supersonic.pods.replicas" .root.Values.triton }}vector({{ . }}){{ else }}vector(0) > 0{{ end -}}
{{- else if include "supersonic.keda.wakes" .root -}}
{{ $atWork }} * on () clamp_max({{ $active }} + on () (({{ .wakeUp }}) > bool {{ toJson $k.wakeUp.activationThreshold }}), 1)
{{- else if include "supersonic.keda.zero" .root -}}
{{ $atWork }} * on () {{ $active }}
{{- else -}}
{{ $atWork }}
{{- end -}}
{{- end -}}
