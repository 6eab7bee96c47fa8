{{- /*
Arguments of fleet-ready.sh as a JSON list: the address, the timeout, and whether
it has to wake the fleet. An Envoy that requires TLS is bypassed.
*/ -}}
{{- define "supersonic.test.args" -}}
{{- $host := include "supersonic.triton.name" . -}}
{{- $port := include "supersonic.triton.port" (list . "grpc") -}}
{{- if and .Values.envoy.enabled (not .Values.envoy.tls.enabled) -}}
{{- $host = include "supersonic.names.instance" . -}}
{{- $port = include "supersonic.envoy.grpcPort" . -}}
{{- end -}}
{{- $wake := include "supersonic.keda.wakes" . -}}
{{- list $host $port (ternary (include "supersonic.triton.startupBudget" .) "30" (not (empty $wake))) (ternary "wake" "" (not (empty $wake))) | compact | toJson -}}
{{- end -}}
