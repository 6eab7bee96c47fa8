{{- /*
Lists and maps that the chart hands through to Kubernetes, such as triton.env: a
number or a boolean where Kubernetes requires a string is an error, because the API
server would refuse the object.
*/ -}}

{{- /*
Fields of a pod, or of a rule of a NetworkPolicy, that are strings or lists of strings.
TestNamesOfStrings compares them with Kubernetes' types.
*/ -}}
{{- define "supersonic.strings.names" -}}
accessModes action add apiGroup apiVersion args audience bindMountOptions cachingMode certificateChainPath
cidr claimName command conditionType containerName credentialBundlePath datasetName datasetUUID devicePath
directory diskName diskURI dnsPolicy driver drop effect endpoints except fieldPath fieldsType finalizers
fsGroupChangePolicy fsType gateway generateName gmsaCredentialSpec gmsaCredentialSpecName group host hostIP
hostname hostnameOverride hostnames image imagePullPolicy initiatorName ip iqn iscsiInterface key keyPath
keyType keyring kind level localhostProfile manager matchLabelKeys medium mismatchLabelKeys monitors mountPath
mountPropagation name nameservers namespace namespaces nodeAffinityPolicy nodeName nodeTaintsPolicy operation
operator path pdID pdName podGroupName pool portals preemptionPolicy prefix priorityClassName procMount
protectionDomain protocol pullPolicy recursiveReadOnly reference registry repository request resource
resourceClaimName resourceClaimTemplateName resourceName resourceVersion restartPolicy revision role
runAsUserName runtimeClassName schedulerName scheme seLinuxChangePolicy searches secretFile secretName
selfLink server service serviceAccount serviceAccountName shareName signerName stopSignal storageClassName
storageMode storagePolicyID storagePolicyName storagePool subPath subPathExpr subdomain subresource
supplementalGroupsPolicy system targetContainerName targetPortal targetWWNs tenant terminationMessagePath
terminationMessagePolicy topologyKey type uid value volume volumeAttributesClassName volumeID volumeMode
volumeName volumeNamespace volumePath whenUnsatisfiable workingDir wwids values
{{- end -}}

{{- /* Fields that are maps of strings. */ -}}
{{- define "supersonic.strings.maps" -}}
annotations labels matchLabels nodeSelector options userAnnotations volumeAttributes
{{- end -}}

{{- define "supersonic.strings.errors" -}}
{{- $names := include "supersonic.strings.names" . | splitList "\n" | join " " | splitList " " -}}
{{- $maps := include "supersonic.strings.maps" . | splitList " " -}}
{{- $sections := dict "prometheus.server" .Values.prometheus.server "networkPolicy.egress" .Values.networkPolicy.egress -}}
{{- range list "triton" "envoy" "networkPolicy" "grafana" "tempo" "opentelemetry-collector" "metricsCollector" "test" -}}
{{- $_ := set $sections . (get $.Values .) -}}
{{- end -}}
{{- $handed := list "env" "envFrom" "extraVolumes" "extraVolumeMounts" "initContainers" "extraContainers" "tolerations" "affinity"
  "topologySpreadConstraints" "podSecurityContext" "securityContext" "clients" "scrapers" "keda" "viewers"
  "dns" "kubernetesAPI" "prometheus" "issuers" "stores" "telemetry" "rules" -}}
{{- range $at, $section := $sections }}
{{- range $key := $handed }}
{{- with get $section $key }}
{{- /* It is quick to see that there are only strings. */}}
{{- if regexMatch "[:,[](true|false|[-0-9])" (toJson .) }}
{{- include "supersonic.strings.errorsBelow" (list (printf "%s.%s" $at $key) $key "" . $names $maps) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
Takes a list: the path of a list or map, its name, the name of the map that it is in, the
list or map itself, names, maps. Anything else has no errors. There may be many values, so
only those that hold others are given to a define.
*/ -}}
{{- define "supersonic.strings.errorsBelow" -}}
{{- $at := index . 0 -}}
{{- $name := index . 1 -}}
{{- $in := index . 2 -}}
{{- $names := index . 4 -}}
{{- $maps := index . 5 -}}
{{- if kindIs "map" (index . 3) }}
{{- $ofStrings := has $name $maps }}
{{- range $key, $value := index . 3 }}
{{- if or (kindIs "map" $value) (kindIs "slice" $value) }}
{{- include "supersonic.strings.errorsBelow" (list (include "supersonic.strings.path" (list $at $key)) $key $name $value $names $maps) }}
{{- else if not (or (kindIs "string" $value) (kindIs "invalid" $value)) }}
{{- if or $ofStrings (and (has $key $names) (ne $name "exitCodes")) }}
{{ include "supersonic.strings.path" (list $at $key) }}: must be a string, got {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}
{{- else if kindIs "slice" (index . 3) }}
{{- $ofStrings := or (has $in $maps) (and (has $name $names) (ne $in "exitCodes")) }}
{{- range $i, $value := index . 3 }}
{{- if or (kindIs "map" $value) (kindIs "slice" $value) }}
{{- include "supersonic.strings.errorsBelow" (list (printf "%s[%d]" $at $i) $name $in $value $names $maps) }}
{{- else if and $ofStrings (not (or (kindIs "string" $value) (kindIs "invalid" $value))) }}
{{ $at }}[{{ $i }}]: must be a string, got {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The path of a key. Takes a list: the path of its map, the key. */ -}}
{{- define "supersonic.strings.path" -}}
{{- first . }}.{{ contains "." (last .) | ternary (quote (last .)) (last .) -}}
{{- end -}}
