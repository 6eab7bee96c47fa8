{{- /*
The flags of Triton in triton.command and triton.args, as a JSON list of {name,
value}. Quotes and line continuations of a shell are dropped; what a shell would
put in place of a variable is not known.
*/ -}}
{{- define "supersonic.triton.flags" -}}
{{- $text := concat (.Values.triton.command | default list) .Values.triton.args | join " " -}}
{{- $words := regexSplit "\\s+" (regexReplaceAll "[\"'\\\\]" $text "") -1 -}}
{{- $flags := list -}}
{{- range $i, $word := $words -}}
{{- if regexMatch "^--?[a-z]" $word -}}
{{- $name := regexFind "^[^=]+" $word -}}
{{- $value := trimPrefix $name $word | trimPrefix "=" -}}
{{- $next := "" -}}
{{- if lt (add1 $i) (len $words) }}{{ $next = index $words (add1 $i) }}{{ end -}}
{{- if and (not (contains "=" $word)) (not (hasPrefix "-" $next)) }}{{ $value = $next }}{{ end -}}
{{- $flags = append $flags (dict "name" (regexReplaceAll "^--?" $name "" | replace "_" "-") "value" $value) -}}
{{- end -}}
{{- end -}}
{{- toJson $flags -}}
{{- end -}}

{{- /* Flags that move or close what Envoy, Prometheus and the probes call. */ -}}
{{- define "supersonic.triton.flagErrors" -}}
{{- $closed := dict
  "allow-grpc" "Envoy and clients call that port"
  "allow-http" "the probes call that port"
  "allow-metrics" "Prometheus scrapes that port" -}}
{{- $last := dict -}}
{{- range include "supersonic.triton.flags" . | fromJsonArray }}{{ $_ := set $last .name .value }}{{ end -}}
{{- range $name, $value := $last }}
{{- $off := has (lower $value) (list "false" "off" "0") }}
{{- if contains "$" $value }}
{{- else if and $off (hasKey $closed $name) }}
triton.args: must not set --{{ $name }} to {{ $value }}, because {{ get $closed $name }}; drop it
{{- else if has $name (list "grpc-port" "http-port" "metrics-port") }}
{{- $port := trimSuffix "-port" $name }}
{{- $target := include "supersonic.triton.port" (list $ $port) }}
{{- if and $target (ne $target $value) }}
triton.args: --{{ $name }} must be {{ $target }}, the targetPort of {{ $port }} in triton.service.ports, got {{ quote $value }}; to move it, set that targetPort too
{{- end }}
{{- else if and (has $name (list "grpc-address" "http-address" "metrics-address")) (not (has $value (list "0.0.0.0" "::" "[::]"))) }}
triton.args: --{{ $name }} must be 0.0.0.0 or ::, because other pods and the kubelet call it, got {{ quote $value }}
{{- else if and $.Values.envoy.enabled (has $name (list "grpc-use-ssl" "grpc-use-ssl-mutual")) (not $off) }}
triton.args: must not set --{{ $name }}, because Envoy calls Triton without TLS, got {{ quote $value }}; for TLS to clients, use envoy.tls
{{- end }}
{{- end }}
{{- range include "supersonic.triton.flags" . | fromJsonArray }}
{{- if and (has .name (list "grpc-restricted-protocol" "http-restricted-api")) (has "health" (regexFind "^[^:]*" .value | splitList ",")) }}
triton.args: --{{ .name }} must not include health, which Envoy and the probes ask for, got {{ quote .value }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A port that the chart moves and Triton does not. A command of the user's own may move it elsewhere. */ -}}
{{- define "supersonic.triton.flagWarnings" -}}
{{- $given := list -}}
{{- range include "supersonic.triton.flags" . | fromJsonArray }}{{ $given = append $given .name }}{{ end -}}
{{- range $name, $usual := dict "http" 8000 "grpc" 8001 "metrics" 8002 }}
{{- $target := include "supersonic.triton.port" (list $ $name) | int64 }}
{{- if and (ne $target (int64 $usual)) (not (has (printf "%s-port" $name) $given)) (kindIs "invalid" $.Values.triton.command) }}
triton.args: should contain --{{ $name }}-port={{ $target }}, or Triton listens on {{ $usual }} and not on the targetPort of {{ $name }}
{{- end }}
{{- end }}
{{- end -}}
