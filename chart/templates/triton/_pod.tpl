{{- /* Name of the Deployment, the Service and related objects. */ -}}
{{- define "supersonic.triton.name" -}}
{{- include "supersonic.names.component" (list . "triton") -}}
{{- end -}}

{{- /* The number of a named container port, or empty. Takes a list: the root context, the name. */ -}}
{{- define "supersonic.triton.port" -}}
{{- range (first .).Values.triton.service.ports -}}
{{- if eq .name (last $) }}{{ int .targetPort }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Command of the container, as a JSON list; an empty list means the image's command. */ -}}
{{- define "supersonic.triton.command" -}}
{{- $t := .Values.triton -}}
{{- if not (kindIs "invalid" $t.command) -}}
{{- toJson $t.command -}}
{{- else if and (eq (len $t.args) 1) (regexMatch "\\S\\s+\\S" (first $t.args)) -}}
["/bin/sh","-c"]
{{- else -}}
["/opt/tritonserver/bin/tritonserver"]
{{- end -}}
{{- end -}}

{{- /* "true" if the first argument is a shell script. */ -}}
{{- define "supersonic.triton.isScript" -}}
{{- $command := include "supersonic.triton.command" . | fromJsonArray -}}
{{- if and (regexMatch "(^|/)(ba|da)?sh \\S*c$" (join " " $command)) .Values.triton.args }}true{{ end -}}
{{- end -}}

{{- /* "true" if the script only runs the server, so that the server can replace the shell. */ -}}
{{- define "supersonic.triton.isPlainScript" -}}
{{- $script := first .Values.triton.args | trim | replace "\\\n" " " -}}
{{- if regexMatch "^([^\\s;&|<>()$`'\"]*/)?tritonserver(\\s[^;&|\\n]*)?$" $script }}true{{ end -}}
{{- end -}}

{{- /*
Arguments, as a JSON list. A shell does not pass the termination signal on, so the
server would be killed after the grace period; exec replaces the shell with the
server.
*/ -}}
{{- define "supersonic.triton.args" -}}
{{- $args := .Values.triton.args -}}
{{- if and (include "supersonic.triton.isScript" .) (include "supersonic.triton.isPlainScript" .) -}}
{{- $args = prepend (rest $args) (printf "exec %s" (first $args | trim)) -}}
{{- end -}}
{{- toJson $args -}}
{{- end -}}

{{- /* Seconds that Triton gives requests in flight when it is told to exit. */ -}}
{{- define "supersonic.triton.exitTimeout" -}}
{{- $given := regexFindAll "--exit-timeout-secs(=|\\s+)[\"']?[0-9]+" (join " " .Values.triton.args) -1 -}}
{{- if $given -}}
{{- last $given | regexFind "[0-9]+$" -}}
{{- else -}}
30
{{- end -}}
{{- end -}}

{{- /* Grace period of a deleted pod, in seconds. */ -}}
{{- define "supersonic.triton.gracePeriod" -}}
{{- $t := .Values.triton -}}
{{- if kindIs "invalid" $t.terminationGracePeriodSeconds -}}
{{- add $t.drain.sleepSeconds (include "supersonic.triton.exitTimeout" .) 15 -}}
{{- else -}}
{{- int64 $t.terminationGracePeriodSeconds -}}
{{- end -}}
{{- end -}}

{{- /* The startup budget: seconds that loading the models may take; the default one where nothing limits them. */ -}}
{{- define "supersonic.triton.startupBudget" -}}
{{- if not (include "supersonic.triton.startupIsProbed" .) -}}
600
{{- else -}}
{{- $p := .Values.triton.startupProbe -}}
{{- add $p.initialDelaySeconds (mul $p.periodSeconds $p.failureThreshold) -}}
{{- end -}}
{{- end -}}

{{- /* "true" if Triton has a device, such as a GPU, which a surge pod would wait for. */ -}}
{{- define "supersonic.triton.hasDevice" -}}
{{- range $amounts := list (.Values.triton.resources | default dict).limits (.Values.triton.resources | default dict).requests -}}
{{- range $name, $amount := $amounts | default dict -}}
{{- if and (include "supersonic.pods.isDevice" $name) (gt (include "supersonic.pods.amount" $amount | float64) 0.0) }}true{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "supersonic.triton.serviceAccount" -}}
{{- $a := .Values.triton.serviceAccount -}}
{{- if $a.name }}{{ $a.name }}{{ else if $a.create }}{{ include "supersonic.triton.name" . }}{{ else }}default{{ end -}}
{{- end -}}

{{- /* The claim of cvmfs-pvc. */ -}}
{{- define "supersonic.triton.cvmfsClaim" -}}
{{- .Values.triton.modelRepository.cvmfs.claimName | default (include "supersonic.names.component" (list . "cvmfs")) -}}
{{- end -}}

{{- /* "true" if the container's root file system is read-only, and nothing of the user's is mounted at /tmp. */ -}}
{{- define "supersonic.triton.ownTmp" -}}
{{- $t := .Values.triton -}}
{{- $tmp := eq (get ($t.securityContext | default dict) "readOnlyRootFilesystem" | toString) "true" -}}
{{- $models := dict "mountPath" ($t.modelRepository.enabled | ternary $t.modelRepository.mountPath "") -}}
{{- range append ($t.extraVolumeMounts | default list) $models -}}
{{- if eq (get . "mountPath" | toString | clean) "/tmp" }}{{ $tmp = false }}{{ end -}}
{{- end -}}
{{- if $tmp }}true{{ end -}}
{{- end -}}

{{- /*
Environment variables of the container, as a YAML list. Caches are in the home directory
unless told otherwise, which is read-only with the rest.
*/ -}}
{{- define "supersonic.triton.env" -}}
{{- $given := .Values.triton.env | default list -}}
{{- $names := list -}}
{{- range $given }}{{ $names = append $names .name }}{{ end -}}
{{- $env := include "supersonic.models.env" . | fromJsonArray -}}
{{- if include "supersonic.triton.ownTmp" . -}}
{{- range $name, $value := dict "XDG_CACHE_HOME" "/tmp/.cache" "CUDA_CACHE_PATH" "/tmp/.nv/ComputeCache" -}}
{{- if not (has $name $names) }}{{ $env = append $env (dict "name" $name "value" $value) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with concat $env $given }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* Volumes of the pod, as a YAML list. */ -}}
{{- define "supersonic.triton.volumes" -}}
{{- $volumes := include "supersonic.models.volumes" . | fromJsonArray -}}
{{- if .Values.triton.shmSize -}}
{{- $volumes = append $volumes (dict "name" "shm" "emptyDir" (dict "medium" "Memory" "sizeLimit" .Values.triton.shmSize)) -}}
{{- end -}}
{{- if include "supersonic.triton.ownTmp" . -}}
{{- $volumes = append $volumes (dict "name" "tmp" "emptyDir" dict) -}}
{{- end -}}
{{- with concat $volumes (.Values.triton.extraVolumes | default list) }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* Volume mounts of the Triton container, as a YAML list. */ -}}
{{- define "supersonic.triton.volumeMounts" -}}
{{- $t := .Values.triton -}}
{{- $mounts := include "supersonic.models.mounts" . | fromJsonArray -}}
{{- if $t.shmSize -}}
{{- $mounts = append $mounts (dict "name" "shm" "mountPath" "/dev/shm") -}}
{{- end -}}
{{- if include "supersonic.triton.ownTmp" . -}}
{{- $mounts = append $mounts (dict "name" "tmp" "mountPath" "/tmp") -}}
{{- end -}}
{{- with concat $mounts ($t.extraVolumeMounts | default list) }}{{ toYaml . }}{{ end -}}
{{- end -}}
