{{- /* Where the models come from: a volume, or an object store that Triton reads itself. */ -}}

{{- /* "true" if the repository is an object store. */ -}}
{{- define "supersonic.models.remote" -}}
{{- $m := .Values.triton.modelRepository -}}
{{- if and $m.enabled (has $m.storageType (list "s3" "gcs" "azure")) }}true{{ end -}}
{{- end -}}

{{- /* What the addresses of an object store begin with. Takes its storageType. */ -}}
{{- define "supersonic.models.scheme" -}}
{{- get (dict "s3" "s3://" "gcs" "gs://" "azure" "as://") . -}}
{{- end -}}

{{- /* The volumes of the repository, as a JSON list. */ -}}
{{- define "supersonic.models.volumes" -}}
{{- $m := .Values.triton.modelRepository -}}
{{- $volumes := list -}}
{{- if and $m.enabled (not (include "supersonic.models.remote" .)) -}}
{{- $v := dict "name" "model-repository" -}}
{{- if eq $m.storageType "pvc" -}}
{{- $_ := set $v "persistentVolumeClaim" (dict "claimName" $m.pvc.claimName "readOnly" true) -}}
{{- else if eq $m.storageType "nfs" -}}
{{- $_ := set $v "nfs" (dict "server" $m.nfs.server "path" $m.nfs.path "readOnly" true) -}}
{{- else if eq $m.storageType "cvmfs-pvc" -}}
{{- $_ := set $v "persistentVolumeClaim" (dict "claimName" (include "supersonic.triton.cvmfsClaim" .) "readOnly" true) -}}
{{- else if eq $m.storageType "cvmfs-hostPath" -}}
{{- $_ := set $v "hostPath" (dict "path" "/cvmfs" "type" "Directory") -}}
{{- else if eq $m.storageType "configMap" -}}
{{- $_ := set $v "configMap" (include "supersonic.models.configMap" $m.configMap | fromJson) -}}
{{- else if eq $m.storageType "image" -}}
{{- $source := dict "reference" $m.image.reference -}}
{{- with $m.image.pullPolicy }}{{ $_ := set $source "pullPolicy" . }}{{ end -}}
{{- $_ := set $v "image" $source -}}
{{- end -}}
{{- $volumes = append $volumes $v -}}
{{- end -}}
{{- with include "supersonic.models.keyFile" . -}}
{{- $secret := dict "secretName" . "items" (list (dict "key" "credentials.json" "path" "credentials.json")) -}}
{{- $volumes = append $volumes (dict "name" "model-repository-credentials" "secret" $secret) -}}
{{- end -}}
{{- toJson $volumes -}}
{{- end -}}

{{- /*
Kubernetes writes a ConfigMap into a hidden folder and links to it from the volume. Triton
takes the hidden folder for a model and does not start, so the repository is a folder
inside the volume, which is mounted without what is beside it.
*/ -}}
{{- define "supersonic.models.configMap" -}}
{{- $source := dict "name" .name -}}
{{- $items := list -}}
{{- range .items }}{{ $items = append $items (dict "key" .key "path" (printf "models/%s" .path)) }}{{ end -}}
{{- if $items }}{{ $_ := set $source "items" $items }}{{ end -}}
{{- toJson $source -}}
{{- end -}}

{{- /* The mounts of those volumes, as a JSON list. */ -}}
{{- define "supersonic.models.mounts" -}}
{{- $m := .Values.triton.modelRepository -}}
{{- $mounts := list -}}
{{- if and $m.enabled (not (include "supersonic.models.remote" .)) -}}
{{- $mount := dict "name" "model-repository" "mountPath" $m.mountPath "readOnly" true -}}
{{- if eq $m.storageType "configMap" -}}
{{- if $m.configMap.items }}{{ $_ := set $mount "subPath" "models" }}{{ end -}}
{{- else if ne $m.storageType "image" -}}
{{- /* File systems that the node mounts on first use, such as CVMFS, then appear in the pod. */ -}}
{{- $_ := set $mount "mountPropagation" "HostToContainer" -}}
{{- end -}}
{{- $mounts = append $mounts $mount -}}
{{- end -}}
{{- if include "supersonic.models.keyFile" . -}}
{{- $folder := include "supersonic.models.keyFolder" . -}}
{{- $mounts = append $mounts (dict "name" "model-repository-credentials" "mountPath" $folder "readOnly" true) -}}
{{- end -}}
{{- toJson $mounts -}}
{{- end -}}

{{- /* The Secret with the key file of Google Cloud Storage, empty without one. */ -}}
{{- define "supersonic.models.keyFile" -}}
{{- $m := .Values.triton.modelRepository -}}
{{- if and $m.enabled (eq $m.storageType "gcs") }}{{ $m.gcs.existingSecret }}{{ end -}}
{{- end -}}

{{- define "supersonic.models.keyFolder" -}}
/etc/supersonic/model-repository
{{- end -}}

{{- /*
The environment variables that Triton reads of an object store, as a JSON list. Without
a Secret there are no keys, and the identity of the ServiceAccount applies, if it has one.
*/ -}}
{{- define "supersonic.models.env" -}}
{{- $m := .Values.triton.modelRepository -}}
{{- $env := list -}}
{{- if include "supersonic.models.remote" . -}}
{{- if eq $m.storageType "s3" -}}
{{- with $m.s3.region }}{{ $env = append $env (dict "name" "AWS_DEFAULT_REGION" "value" .) }}{{ end -}}
{{- else if include "supersonic.models.keyFile" . -}}
{{- $path := printf "%s/credentials.json" (include "supersonic.models.keyFolder" .) -}}
{{- $env = append $env (dict "name" "GOOGLE_APPLICATION_CREDENTIALS" "value" $path) -}}
{{- end -}}
{{- $keys := dict "s3" (list "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN")
  "gcs" list "azure" (list "AZURE_STORAGE_ACCOUNT" "AZURE_STORAGE_KEY") -}}
{{- with (get $m $m.storageType).existingSecret -}}
{{- $secret := . -}}
{{- range $key := get $keys $m.storageType -}}
{{- $ref := dict "name" $secret "key" $key -}}
{{- /* Only temporary credentials have a token. */ -}}
{{- if eq $key "AWS_SESSION_TOKEN" }}{{ $_ := set $ref "optional" true }}{{ end -}}
{{- $env = append $env (dict "name" $key "valueFrom" (dict "secretKeyRef" $ref)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $env -}}
{{- end -}}
