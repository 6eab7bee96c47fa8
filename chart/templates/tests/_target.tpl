{{- /*
Arguments of fleet-ready.sh as a JSON list: the address, the timeout, which covers a
fleet that has to wake, and whether calls need a token. An Envoy that requires TLS is
bypassed.
*/ -}}
{{- define "supersonic.test.args" -}}
{{- $host := include "supersonic.triton.name" . -}}
{{- $port := include "supersonic.triton.port" (list . "grpc") -}}
{{- $tokens := "" -}}
{{- if and .Values.envoy.enabled (not .Values.envoy.tls.enabled) -}}
{{- $host = include "supersonic.names.instance" . -}}
{{- $port = include "supersonic.envoy.grpcPort" . -}}
{{- if .Values.envoy.auth.enabled }}{{ $tokens = "tokens" }}{{ end -}}
{{- end -}}
{{- $seconds := "30" -}}
{{- if include "supersonic.keda.wakes" . }}{{ $seconds = include "supersonic.triton.startupBudget" . }}{{ end -}}
{{- list $host $port $seconds $tokens | compact | toJson -}}
{{- end -}}
