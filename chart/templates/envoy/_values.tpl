{{- /* Settings of the envoy section that Envoy's templates and other parts of the chart use. */ -}}

{{- /* The entry of envoy.service.ports that clients call, as JSON. */ -}}
{{- define "supersonic.envoy.grpc" -}}
{{- $found := dict "name" "grpc" "port" 8001 "targetPort" 8001 -}}
{{- range .Values.envoy.service.ports -}}
{{- if eq .name "grpc" }}{{ $found = . }}{{ end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- /* Port of the Service that clients call. */ -}}
{{- define "supersonic.envoy.grpcPort" -}}
{{- (include "supersonic.envoy.grpc" . | fromJson).port | int64 -}}
{{- end -}}

{{- /* Port that Envoy listens on for clients. */ -}}
{{- define "supersonic.envoy.grpcTargetPort" -}}
{{- (include "supersonic.envoy.grpc" . | fromJson).targetPort | int64 -}}
{{- end -}}

{{- /*
Port of the stats listener, which Prometheus and the probes use: statsPort, or the
port of an entry named admin, which in 0.3.1 was Envoy's admin interface and is no
longer published.
*/ -}}
{{- define "supersonic.envoy.statsPort" -}}
{{- $port := .Values.envoy.statsPort -}}
{{- range .Values.envoy.service.ports -}}
{{- if eq .name "admin" }}{{ $port = .targetPort }}{{ end -}}
{{- end -}}
{{- int64 $port -}}
{{- end -}}

{{- /* Loopback port of Envoy's admin interface. */ -}}
{{- define "supersonic.envoy.adminPort" -}}9900{{- end -}}

{{- /* Host of Triton's headless Service; the trailing dot keeps resolvers from trying search domains. */ -}}
{{- define "supersonic.envoy.tritonHost" -}}
{{- include "supersonic.names.host" (list . "triton") }}.
{{- end -}}

{{- /*
A listener on every address of a pod, IPv4 and IPv6. Takes a list: the root context,
the port.
*/ -}}
{{- define "supersonic.envoy.everywhere" -}}
{{- if (first .).Values.ipv6 -}}
{socket_address: {address: "::", ipv4_compat: true, port_value: {{ last . }}}}
{{- else -}}
{socket_address: {address: 0.0.0.0, port_value: {{ last . }}}}
{{- end -}}
{{- end -}}

{{- define "supersonic.envoy.tritonPort" -}}
{{- $port := 8001 -}}
{{- range .Values.triton.service.ports -}}
{{- if eq .name "grpc" }}{{ $port = .targetPort }}{{ end -}}
{{- end -}}
{{- int64 $port -}}
{{- end -}}

{{- /* An Envoy duration, such as 1.5s, in seconds. */ -}}
{{- define "supersonic.envoy.seconds" -}}
{{- trimSuffix "s" . | float64 -}}
{{- end -}}

{{- /* "true" if Envoy runs a custom configuration. */ -}}
{{- define "supersonic.envoy.external" -}}
{{- if .Values.envoy.external_config.load_from_configmap }}true{{ end -}}
{{- end -}}

{{- /* "true" if there may be more than one Envoy: an autoscaler decides, where replicas is null. */ -}}
{{- define "supersonic.envoy.several" -}}
{{- if not (has (include "supersonic.pods.replicas" .Values.envoy) (list "0" "1")) }}true{{ end -}}
{{- end -}}
