{{- /* Errors and warnings of triton.modelRepository, one per line. */ -}}
{{- define "supersonic.models.errors" -}}
{{- $m := .Values.triton.modelRepository -}}
{{- if $m.enabled }}
{{- if include "supersonic.models.remote" . }}
{{- if $m.mountPath }}
triton.modelRepository.mountPath: must be empty if storageType is {{ $m.storageType }}, which Triton reads without a mount, got {{ quote $m.mountPath }}
{{- end }}
{{- else if not (hasPrefix "/" $m.mountPath) }}
triton.modelRepository.mountPath: must be an absolute path, got {{ quote $m.mountPath }}
{{- end }}
{{- include "supersonic.models.sourceErrors" $m }}
{{- include "supersonic.models.imageErrors" . }}
{{- include "supersonic.models.otherSources" $m }}
{{- include "supersonic.models.envErrors" . }}
{{- end }}
{{- include "supersonic.models.addressErrors" . }}
{{- end -}}

{{- /* Takes triton.modelRepository. */ -}}
{{- define "supersonic.models.sourceErrors" -}}
{{- if not .storageType }}
triton.modelRepository.storageType: must be pvc, nfs, cvmfs-pvc, cvmfs-hostPath, configMap, image, s3, gcs or azure, got ""
{{- else if and (eq .storageType "pvc") (not .pvc.claimName) }}
triton.modelRepository.pvc.claimName: must name an existing claim if storageType is pvc, got ""
{{- else if eq .storageType "nfs" }}
{{- if not .nfs.server }}
triton.modelRepository.nfs.server: must be a host if storageType is nfs, got ""
{{- end }}
{{- if not (hasPrefix "/" (.nfs.path | default "")) }}
triton.modelRepository.nfs.path: must be an absolute path if storageType is nfs, got {{ .nfs.path | default "" | quote }}
{{- end }}
{{- else if and (eq .storageType "image") (not .image.reference) }}
triton.modelRepository.image.reference: must name an image if storageType is image, got ""
{{- else if eq .storageType "configMap" }}
{{- include "supersonic.models.configMapErrors" . }}
{{- end }}
{{- end -}}

{{- /* Takes triton.modelRepository. */ -}}
{{- define "supersonic.models.configMapErrors" -}}
{{- if not .configMap.name }}
triton.modelRepository.configMap.name: must name an existing ConfigMap if storageType is configMap, got ""
{{- end }}
{{- if and (not .configMap.items) (not (regexMatch "/[0-9]+/?$" .mountPath)) }}
triton.modelRepository.configMap.items: must say where in the repository each key goes, because keys have no folders; without items, mountPath must be the folder of a version, such as /models/my-model/1, got {{ quote .mountPath }}
{{- end }}
{{- $paths := list }}
{{- range .configMap.items }}
{{- if has .path $paths }}
triton.modelRepository.configMap.items: must have unique paths, got {{ quote .path }} twice
{{- end }}
{{- $paths = append $paths .path }}
{{- end }}
{{- end -}}

{{- define "supersonic.models.imageErrors" -}}
{{- $kubernetes := .Capabilities.KubeVersion.Version -}}
{{- if and (eq .Values.triton.modelRepository.storageType "image") (semverCompare "<1.31-0" $kubernetes) }}
triton.modelRepository.storageType: must not be image before Kubernetes 1.31, which cannot mount images, got image with {{ $kubernetes }}
{{- end }}
{{- end -}}

{{- /* One repository has one source. Files of 0.3.1 may name more of those that it had. Takes triton.modelRepository. */ -}}
{{- define "supersonic.models.otherSources" -}}
{{- $m := . -}}
{{- $old := list "pvc" "nfs" "cvmfs-pvc" "cvmfs-hostPath" -}}
{{- $keys := dict "pvc" "claimName" "nfs" "server" "configMap" "name" "image" "reference"
  "s3" "existingSecret" "gcs" "existingSecret" "azure" "existingSecret" -}}
{{- if $m.storageType }}
{{- range $section, $key := $keys }}
{{- $value := get (get $m $section) $key }}
{{- if and $value (ne $section $m.storageType) (not (and (has $section $old) (has $m.storageType $old))) }}
triton.modelRepository.{{ $section }}.{{ $key }}: must be empty if storageType is {{ $m.storageType }}, because a repository has one source, got {{ quote $value }}; for a second one, use triton.extraVolumes
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.models.envErrors" -}}
{{- $type := .Values.triton.modelRepository.storageType -}}
{{- $ours := list -}}
{{- range include "supersonic.models.env" . | fromJsonArray }}{{ $ours = append $ours .name }}{{ end -}}
{{- range .Values.triton.env }}
{{- if has .name $ours }}
triton.env: must not contain {{ .name }}, which triton.modelRepository.{{ $type }} sets
{{- end }}
{{- end }}
{{- end -}}

{{- /* Addresses in --model-repository: what Triton cannot read, and the one that storageType is for. */ -}}
{{- define "supersonic.models.addressErrors" -}}
{{- $endpoint := "^s3://(https?://)?[0-9a-zA-Z.-]+:[0-9]+/[0-9a-z.-]+(/[0-9a-zA-Z._-]+)*/*$" -}}
{{- $addresses := list -}}
{{- $known := true -}}
{{- range include "supersonic.triton.flags" . | fromJsonArray }}
{{- if has .name (list "model-repository" "model-store") }}
{{- $addresses = append $addresses .value }}
{{- if contains "$" .value }}
{{- $known = false }}
{{- else if and (regexMatch "^s3://(https?://|[^/]*:)" .value) (not (regexMatch $endpoint .value)) }}
triton.args: --{{ .name }} must have a port and a bucket after the host, such as s3://https://host:443/bucket/models, got {{ quote .value }}
{{- else if and (hasPrefix "as://" .value) (not (regexMatch "^as://[^/]+/[^/?]+" .value)) }}
triton.args: --{{ .name }} must have an account and a container, such as as://account/container/models, got {{ quote .value }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "supersonic.models.remote" . }}
{{- $type := .Values.triton.modelRepository.storageType }}
{{- $scheme := include "supersonic.models.scheme" $type }}
{{- $found := false }}
{{- range $addresses }}{{ if hasPrefix $scheme . }}{{ $found = true }}{{ end }}{{ end }}
{{- if and $addresses $known (not $found) }}
triton.args: must contain a --model-repository that begins with {{ $scheme }} if triton.modelRepository.storageType is {{ $type }}, got {{ join ", " $addresses }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "supersonic.models.warnings" -}}
{{- $t := .Values.triton -}}
{{- $m := $t.modelRepository -}}
{{- if and $m.enabled (has $m.storageType (list "nfs" "cvmfs-hostPath")) }}
triton.modelRepository.storageType: {{ $m.storageType }} is rejected in namespaces with the Pod Security Standard restricted{{ if eq $m.storageType "cvmfs-hostPath" }} or baseline{{ end }}
{{- end }}
{{- $kubernetes := .Capabilities.KubeVersion.Version -}}
{{- if and $m.enabled (eq $m.storageType "image") (semverCompare "<1.35-0" $kubernetes) }}
triton.modelRepository.storageType: Kubernetes {{ $kubernetes }} mounts images only with the feature gate ImageVolume, as it is by default since 1.35
{{- end }}
{{- if and $m.enabled (eq $m.storageType "azure") (not $m.azure.existingSecret) (not $t.envFrom) }}
{{- $names := list }}
{{- range $t.env }}{{ $names = append $names .name }}{{ end }}
{{- if not (has "AZURE_STORAGE_AUTH_TYPE" $names) }}
triton.modelRepository.azure.existingSecret: without it, Triton reads the container as anyone may; for the identity of the ServiceAccount, set AZURE_STORAGE_AUTH_TYPE to default in triton.env, and azure.workload.identity/use to "true" in triton.labels
{{- end }}
{{- end }}
{{- $text := concat ($t.command | default list) $t.args | join " " }}
{{- with regexFind "(AWS_ACCESS_KEY_ID|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN|AZURE_STORAGE_KEY)=[\"']?[^$\"'\\s]" $text }}
triton.args: contains {{ regexFind "^[A-Z_]+" . }} in clear: put it into a Secret and name it in triton.modelRepository
{{- end }}
{{- end -}}
