package chart_test

import (
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// Triton's pods meet the restricted Pod Security Standard.
func TestTritonPodRestricted(t *testing.T) {
	m := manifest.Render(t, "triton: {shmSize: 1Gi, modelRepository: {enabled: true, storageType: cvmfs-pvc, mountPath: /cvmfs}}")
	deployment, _ := triton(t, m)
	for name, pod := range map[string]corev1.PodSpec{
		"servers":   deployment.Spec.Template.Spec,
		"helm-test": manifest.Object[corev1.Pod](t, m, "tests/fleet-ready.yaml").Spec,
	} {
		t.Run(name, func(t *testing.T) {
			if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("securityContext of the pod: got %v", s)
			}
			if *pod.AutomountServiceAccountToken {
				t.Error("a token is mounted that nothing reads")
			}
			for _, c := range pod.Containers {
				all := []corev1.Capability{"ALL"}
				if s := c.SecurityContext; *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, all) || len(s.Capabilities.Add) > 0 {
					t.Errorf("securityContext of container %s: got %v", c.Name, s)
				}
			}
			for _, v := range pod.Volumes {
				if v.EmptyDir == nil && v.PersistentVolumeClaim == nil {
					t.Errorf("volume %s: got %v", v.Name, v.VolumeSource)
				}
			}
		})
	}
}

// Each key of Triton's pods sets its field.
func TestTritonPodKeys(t *testing.T) {
	m := manifest.Render(t, `
imagePullSecrets: [registry, {name: other}]
triton:
  annotations: {note: "true"}
  labels: {team: hep}
  nodeSelector: {zone: a}
  tolerations: [{key: gpu, operator: Exists}]
  affinity: {podAntiAffinity: {}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  priorityClassName: high
  runtimeClassName: nvidia
  env: [{name: A, value: "1"}]
  envFrom: [{configMapRef: {name: settings}}]
  initContainers: [{name: first, image: a}]
  extraContainers: [{name: beside, image: b}]
  imagePullPolicy: Always
  resources: {limits: {cpu: 500m, memory: 1000000}, requests: {cpu: 0.5, memory: 1000000}}
  serviceAccount: {name: mine, automountToken: true}
  podDisruptionBudget: {enabled: true, maxUnavailable: 25%}
  service: {labels: {scrape: "true"}, annotations: {pool: private}}
`)
	d, c := triton(t, m)
	pod := d.Spec.Template
	got := []any{
		pod.Spec.ImagePullSecrets, pod.Annotations, pod.Labels["team"], pod.Spec.NodeSelector, len(pod.Spec.Tolerations),
		pod.Spec.Affinity != nil,
		len(pod.Spec.TopologySpreadConstraints), pod.Spec.PriorityClassName, *pod.Spec.RuntimeClassName, len(c.Env), len(c.EnvFrom),
		pod.Spec.InitContainers[0].Name, pod.Spec.Containers[1].Name, c.ImagePullPolicy, c.Resources.Limits.Cpu().String(),
		c.Resources.Limits.Memory().Value(), c.Resources.Requests.Cpu().String(), pod.Spec.ServiceAccountName,
		*pod.Spec.AutomountServiceAccountToken,
	}
	want := []any{
		[]corev1.LocalObjectReference{{Name: "registry"}, {Name: "other"}},
		map[string]string{"note": "true"},
		"hep",
		map[string]string{"zone": "a"},
		1, true,
		1, "high", "nvidia", 1, 1,
		"first", "beside", corev1.PullAlways, "500m",
		int64(1000000), "500m", "mine", true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	if a := manifest.Object[corev1.ServiceAccount](t, m, "triton/serviceaccount.yaml"); a.Name != "mine" {
		t.Errorf("the ServiceAccount is %s, want mine", a.Name)
	}
	budget := manifest.Object[policyv1.PodDisruptionBudget](t, m, "triton/poddisruptionbudget.yaml").Spec
	if budget.MaxUnavailable.StrVal != "25%" || !labels.SelectorFromSet(budget.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) {
		t.Errorf("the disruption budget: got %v", budget)
	}
	if s := manifest.Object[corev1.Service](t, m, "triton/service.yaml"); s.Labels["scrape"] != "true" || s.Annotations["pool"] != "private" {
		t.Errorf("the Service: got labels %v, annotations %v", s.Labels, s.Annotations)
	}
}

// The strategy Recreate has no rollingUpdate.
func TestRecreate(t *testing.T) {
	m := manifest.Render(t, `
envoy: {strategy: {type: Recreate}}
triton: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}
`)
	for _, name := range []string{"envoy/deployment.yaml", "triton/deployment.yaml"} {
		d := manifest.Object[appsv1.Deployment](t, m, name)
		want := appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		if diff := cmp.Diff(want, d.Spec.Strategy); diff != "" {
			t.Errorf("%s: strategy mismatch (-want +got):\n%s", name, diff)
		}
	}
}

// With a read-only root file system, /tmp is a volume with the caches, unless the user mounts one there.
func TestReadOnlyTriton(t *testing.T) {
	const on = "triton: {securityContext: {readOnlyRootFilesystem: true}"
	caches := []corev1.EnvVar{
		{Name: "CUDA_CACHE_PATH", Value: "/tmp/.nv/ComputeCache"}, {Name: "XDG_CACHE_HOME", Value: "/tmp/.cache"},
	}
	for _, tc := range []struct {
		name, values string
		tmp          string // the volume at /tmp
		env          []corev1.EnvVar
	}{
		{"off", "", "", nil},
		{"set-to-false", "triton: {securityContext: {readOnlyRootFilesystem: false}}", "", nil},
		{"on", on + "}", "tmp", caches},
		{"own-environment", on + ", env: [{name: XDG_CACHE_HOME, value: /cache}]}", "tmp", []corev1.EnvVar{
			caches[0], {Name: "XDG_CACHE_HOME", Value: "/cache"},
		}},
		{
			"own-volume", on + ", extraVolumes: [{name: scratch, emptyDir: {}}], extraVolumeMounts: [{name: scratch, mountPath: /tmp/}]}",
			"scratch", nil,
		},
		{
			"models-in-tmp", on + ", modelRepository: {enabled: true, storageType: pvc, pvc: {claimName: models}, mountPath: /tmp/models}}",
			"tmp", caches,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			deployment, container := triton(t, manifest.Render(t, tc.values))
			tmp := ""
			for _, mount := range container.VolumeMounts {
				if path.Clean(mount.MountPath) == "/tmp" {
					tmp = mount.Name
				}
			}
			if tmp != tc.tmp {
				t.Errorf("at /tmp is the volume %q, want %q", tmp, tc.tmp)
			}
			if diff := cmp.Diff(tc.env, container.Env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			isTmp := func(v corev1.Volume) bool { return v.Name == tmp && v.EmptyDir != nil && v.EmptyDir.Medium == "" }
			if tmp != "" && !slices.ContainsFunc(deployment.Spec.Template.Spec.Volumes, isTmp) {
				t.Errorf("volumes: got %v, want an emptyDir %s", deployment.Spec.Template.Spec.Volumes, tmp)
			}
		})
	}
}

// The key file of Google Cloud Storage is where Triton is told to look for it, and it alone.
func TestKeyFileOfModels(t *testing.T) {
	d, c := triton(t, manifest.Render(t, `
triton:
  args: [--model-repository=gs://bucket/models]
  modelRepository: {enabled: true, storageType: gcs, gcs: {existingSecret: store}}
`))
	if len(c.VolumeMounts) != 1 || len(d.Spec.Template.Spec.Volumes) != 1 || len(c.Env) != 1 {
		t.Fatalf("got mounts %v, volumes %v, variables %v, want one of each", c.VolumeMounts, d.Spec.Template.Spec.Volumes, c.Env)
	}
	mount, secret := c.VolumeMounts[0], d.Spec.Template.Spec.Volumes[0].Secret
	item := secret.Items[0]
	if secret.SecretName != "store" || item.Key != "credentials.json" || !mount.ReadOnly {
		t.Errorf("got Secret %v at %v", secret, mount)
	}
	if v := c.Env[0]; v.Name != "GOOGLE_APPLICATION_CREDENTIALS" || v.Value != path.Join(mount.MountPath, item.Path) {
		t.Errorf("%s is %s, want the file at %s", v.Name, v.Value, mount.MountPath)
	}
}
