{{- /*
Lists and maps that the chart hands through to Kubernetes, such as triton.env: a
number or a boolean where Kubernetes requires a string is an error, because the API
server would refuse the object.
*/ -}}

{{- /*
Fields of a pod, or of a NetworkPolicy's peer, that are strings or lists of strings.
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

{{- define "supersonic.strings.faults" -}}
{{- $names := include "supersonic.strings.names" . | splitList "\n" | join " " | splitList " " -}}
{{- $maps := include "supersonic.strings.maps" . | splitList " " -}}
{{- $sections := dict "prometheus.server" .Values.prometheus.server -}}
{{- range list "triton" "envoy" "networkPolicy" "grafana" "tempo" "opentelemetry-collector" "metricsCollector" "test" -}}
{{- $_ := set $sections . (get $.Values .) -}}
{{- end -}}
{{- $handed := list "env" "envFrom" "extraVolumes" "extraVolumeMounts" "initContainers" "extraContainers" "tolerations" "affinity"
  "topologySpreadConstraints" "podSecurityContext" "securityContext" "clients" "scrapers" "keda" "viewers" -}}
{{- range $at, $section := $sections }}
{{- range $key := $handed }}
{{- include "supersonic.strings.faultsBelow"
  (dict "at" (printf "%s.%s" $at $key) "key" $key "in" "" "value" (get $section $key) "names" $names "maps" $maps) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Takes a dict: at (the path of a value), value, key (its name, or that of its list), in (the name of its map), names, maps. */ -}}
{{- define "supersonic.strings.faultsBelow" -}}
{{- $given := . -}}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- $at := printf "%s.%s" $given.at (contains "." $key | ternary (quote $key) $key) }}
{{- include "supersonic.strings.faultsBelow"
  (merge (dict "at" $at "key" $key "in" $given.key "value" $value) (pick $given "names" "maps")) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $i, $value := .value }}
{{- include "supersonic.strings.faultsBelow" (merge (dict "at" (printf "%s[%d]" $given.at $i) "value" $value) (omit $given "at" "value")) }}
{{- end }}
{{- else if not (or (kindIs "string" .value) (kindIs "invalid" .value)) }}
{{- if or (has .in .maps) (and (has .key .names) (ne .in "exitCodes")) }}
{{ .at }}: must be a string, got {{ toJson .value }}
{{- end }}
{{- end }}
{{- end -}}
