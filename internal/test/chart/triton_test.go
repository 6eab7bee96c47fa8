package chart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func triton(t testing.TB, m render.Manifests) (appsv1.Deployment, corev1.Container) {
	t.Helper()
	d := manifest.Object[appsv1.Deployment](t, m, "triton/deployment.yaml")
	return d, d.Spec.Template.Spec.Containers[0]
}

// With KEDA, the manifests do not set the number of replicas.
func TestTritonReplicas(t *testing.T) {
	const keda = "keda: {enabled: true}\nprometheus: {enabled: true}\n"
	for _, tc := range []struct {
		name, values string
		want         *int32
	}{
		{"default", "", new(int32(1))},
		{"given", "triton: {replicas: 3}", new(int32(3))},
		{"zero", "triton: {replicas: 0}", new(int32(0))},
		{"keda", keda + "triton: {replicas: 3}", nil},
		{"own-autoscaler", "triton: {replicas: null}", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := manifest.Render(t, tc.values)
			d, _ := triton(t, m)
			if diff := cmp.Diff(tc.want, d.Spec.Replicas); diff != "" {
				t.Errorf("replicas mismatch (-want +got):\n%s", diff)
			}
			var raw struct{ Spec map[string]any }
			if err := yaml.Unmarshal([]byte(m["triton/deployment.yaml"]), &raw); err != nil {
				t.Fatal(err)
			}
			if _, ok := raw.Spec["replicas"]; ok != (tc.want != nil) {
				t.Errorf("the key replicas is there: %t, want %t", ok, tc.want != nil)
			}
		})
	}
}

func TestTritonCommand(t *testing.T) {
	const server = "/opt/tritonserver/bin/tritonserver"
	for _, tc := range []struct {
		name, values  string
		command, args []string
	}{
		{"list", "triton: {args: [--model-repository=/m]}", []string{server}, []string{"--model-repository=/m"}},
		{
			"one-string", "triton: {args: ['" + server + " --model-repository=/m']}",
			[]string{"/bin/sh", "-c"},
			[]string{"exec " + server + " --model-repository=/m"},
		},
		{
			"string-of-several-lines",
			"triton:\n  command: [/bin/sh, -c]\n  args:\n  - |\n    tritonserver \\\n    --model-repository=/m \\\n    --log-verbose=0\n",
			[]string{"/bin/sh", "-c"},
			[]string{"exec tritonserver \\\n--model-repository=/m \\\n--log-verbose=0"},
		},
		{
			"script", "triton: {command: [/bin/bash, -c], args: ['ulimit -n 9 && tritonserver --model-repository=/m']}",
			[]string{"/bin/bash", "-c"},
			[]string{"ulimit -n 9 && tritonserver --model-repository=/m"},
		},
		{"own-command", "triton: {command: [/server], args: [a b]}", []string{"/server"}, []string{"a b"}},
		{"image-decides", "triton: {command: [], args: []}", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := triton(t, manifest.Render(t, tc.values))
			if diff := cmp.Diff([][]string{tc.command, tc.args}, [][]string{c.Command, c.Args}); diff != "" {
				t.Errorf("command and args mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// The grace period outlasts the drain and the exit timeout.
func TestTritonGracePeriod(t *testing.T) {
	for _, tc := range []struct {
		name, values string
		grace, sleep int64
	}{
		{"default", "", 115, 40},
		{"exit-timeout-of-triton", "triton: {args: [--model-repository=/m]}", 85, 40},
		{"exit-timeout-as-two-words", `triton: {args: [--exit-timeout-secs, "75"]}`, 130, 40},
		{"exit-timeout-in-a-string", "triton: {args: ['tritonserver --exit-timeout-secs 75 --log-verbose=0']}", 130, 40},
		{"exit-timeout-given-twice", "triton: {args: [--exit-timeout-secs=5, --exit-timeout-secs=75]}", 130, 40},
		{"longer-drain", "triton: {drain: {sleepSeconds: 100}}", 175, 100},
		{"given", "triton: {terminationGracePeriodSeconds: 1000000}", 1000000, 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, c := triton(t, manifest.Render(t, tc.values))
			if got := *d.Spec.Template.Spec.TerminationGracePeriodSeconds; got != tc.grace {
				t.Errorf("terminationGracePeriodSeconds is %d, want %d", got, tc.grace)
			}
			if got := c.Lifecycle.PreStop.Sleep.Seconds; got != tc.sleep {
				t.Errorf("preStop sleeps %d, want %d", got, tc.sleep)
			}
		})
	}
}

// A rollout needs no spare GPU.
func TestRolloutOnGPU(t *testing.T) {
	const oneOut = "type: RollingUpdate\nrollingUpdate: {maxSurge: 0, maxUnavailable: 1}"
	for _, tc := range []struct{ name, values, want string }{
		{"cpu", "", "{}"},
		{"gpu", "triton: {resources: {limits: {nvidia.com/gpu: 1}}}", oneOut},
		{"part-of-a-gpu", "triton: {resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}", oneOut},
		{"amd", "triton: {resources: {limits: {amd.com/gpu: 1}}}", oneOut},
		{"intel", "triton: {resources: {limits: {gpu.intel.com/i915: 1}}}", oneOut},
		{"tpu", "triton: {resources: {limits: {google.com/tpu: \"4\"}}}", oneOut},
		{"no-gpu", "triton: {resources: {limits: {nvidia.com/gpu: 0}}}", "{}"},
		{"no-gpu-as-text", "triton: {resources: {requests: {nvidia.com/gpu: \"0\"}, limits: {nvidia.com/gpu: \"0\"}}}", "{}"},
		{"huge-pages", "triton: {resources: {limits: {hugepages-2Mi: 1Gi, storage.kubernetes.io/x: 1}}}", "{}"},
		{"given", "triton: {strategy: {type: Recreate}, resources: {limits: {nvidia.com/gpu: 1}}}", "type: Recreate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want appsv1.DeploymentStrategy
			if err := yaml.UnmarshalStrict([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			d, _ := triton(t, manifest.Render(t, tc.values))
			if diff := cmp.Diff(want, d.Spec.Strategy); diff != "" {
				t.Errorf("strategy mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTritonProbes(t *testing.T) {
	_, c := triton(t, manifest.Render(t, ""))
	for name, got := range map[string]string{
		"/v2/health/live":  c.LivenessProbe.HTTPGet.Path,
		"/v2/health/ready": c.ReadinessProbe.HTTPGet.Path,
	} {
		if got != name {
			t.Errorf("probe asks %s, want %s", got, name)
		}
	}
	_, c = triton(t, manifest.Render(t, `
triton: {readinessProbe: {reset: true}, livenessProbe: {enabled: false}, startupProbe: {timeoutSeconds: 10}}
`))
	p := c.ReadinessProbe
	if p.HTTPGet == nil || p.InitialDelaySeconds+p.PeriodSeconds+p.FailureThreshold+p.TimeoutSeconds+p.SuccessThreshold != 0 {
		t.Errorf("readiness after reset: must ask over HTTP with Kubernetes' timing, got %v", p)
	}
	if got := c.StartupProbe.TimeoutSeconds; got != 10 {
		t.Errorf("timeout of the startup probe: %d, want 10", got)
	}
	if c.LivenessProbe != nil {
		t.Error("the liveness probe is there, want none")
	}
	_, c = triton(t, manifest.Render(t, `
triton: {readinessProbe: {command: [/check, me], periodSeconds: 30}, startupProbe: {httpGet: {port: 8000}}}
`))
	if diff := cmp.Diff([]string{"/check", "me"}, c.ReadinessProbe.Exec.Command); diff != "" || c.ReadinessProbe.PeriodSeconds != 30 {
		t.Errorf("readiness with a command of its own: got %v", c.ReadinessProbe)
	}
	if got := c.StartupProbe.HTTPGet.Port.IntValue(); got != 8000 {
		t.Errorf("startup probe asks port %d, want 8000", got)
	}
}

// A liveness probe without a startup probe would restart a Triton that is loading its models.
func TestProbesLeftOut(t *testing.T) {
	for values, want := range map[string][]bool{ // startup, readiness, liveness
		"":                                {true, true, true},
		"startupProbe: null":              {false, true, false},
		"startupProbe: {reset: true}":     {false, true, false},
		"readinessProbe: null":            {true, false, true},
		"livenessProbe: null":             {true, true, false},
		"livenessProbe: {enabled: false}": {true, true, false},
		"startupProbe: null, livenessProbe: null, readinessProbe: null": {false, false, false},
	} {
		_, c := triton(t, manifest.Render(t, "triton: {"+values+"}"))
		got := []bool{c.StartupProbe != nil, c.ReadinessProbe != nil, c.LivenessProbe != nil}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: startup, readiness, liveness (-want +got):\n%s", values, diff)
		}
	}
}

func TestModelRepositoryVolumes(t *testing.T) {
	const claims = "triton/cvmfs-claim.yaml"
	for _, tc := range []struct {
		name, values, want string
		makesClaim         bool
	}{
		{"pvc", "storageType: pvc, pvc: {claimName: models}", "persistentVolumeClaim: {claimName: models, readOnly: true}", false},
		{
			"nfs", "storageType: nfs, nfs: {server: files.example.org, path: /models}",
			"nfs: {server: files.example.org, path: /models, readOnly: true}", false,
		},
		{"cvmfs-hostpath", "storageType: cvmfs-hostPath", "hostPath: {path: /cvmfs, type: Directory}", false},
		{"cvmfs-pvc", "storageType: cvmfs-pvc", "persistentVolumeClaim: {claimName: sonic-cvmfs, readOnly: true}", true},
		{
			"cvmfs-pvc-existing", "storageType: cvmfs-pvc, cvmfs: {claimName: cvmfs}", "persistentVolumeClaim: {claimName: cvmfs, readOnly: true}",
			false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := manifest.Render(t, "triton: {modelRepository: {enabled: true, mountPath: /models, "+tc.values+"}}")
			d, c := triton(t, m)
			want := corev1.Volume{Name: "model-repository"}
			if err := yaml.UnmarshalStrict([]byte(tc.want), &want.VolumeSource); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]corev1.Volume{want}, d.Spec.Template.Spec.Volumes); diff != "" {
				t.Errorf("volumes mismatch (-want +got):\n%s", diff)
			}
			if got := c.VolumeMounts[0]; got.MountPath != "/models" || !got.ReadOnly ||
				*got.MountPropagation != corev1.MountPropagationHostToContainer {
				t.Errorf("mount: got %v", got)
			}
			if _, ok := m[claims]; ok != tc.makesClaim {
				t.Errorf("a claim is made: %t, want %t", ok, tc.makesClaim)
			}
			if tc.makesClaim {
				claim := manifest.Object[corev1.PersistentVolumeClaim](t, m, claims)
				if claim.Annotations["helm.sh/resource-policy"] != "keep" || *claim.Spec.StorageClassName != "cvmfs" {
					t.Errorf("claim: must stay after an uninstall and be of class cvmfs, got %v", claim)
				}
			}
		})
	}
	if _, ok := manifest.Render(t, "triton: {modelRepository: {storageType: cvmfs-pvc}}")[claims]; ok {
		t.Error("a claim is made for a repository that is not enabled")
	}
}

func TestTritonSharedMemory(t *testing.T) {
	d, _ := triton(t, manifest.Render(t, ""))
	if v := d.Spec.Template.Spec.Volumes; len(v) > 0 {
		t.Errorf("by default: got volumes %v, want none", v)
	}
	d, c := triton(t, manifest.Render(t, `
triton:
  shmSize: 1Gi
  extraVolumes: [{name: extra, emptyDir: {}}]
  extraVolumeMounts: [{name: extra, mountPath: /extra}]
`))
	volumes := d.Spec.Template.Spec.Volumes
	if len(volumes) != 2 || volumes[0].EmptyDir.Medium != corev1.StorageMediumMemory || volumes[0].EmptyDir.SizeLimit.String() != "1Gi" {
		t.Errorf("volumes: got %v, want 1Gi of memory and the user's own", volumes)
	}
	if len(c.VolumeMounts) != 2 || c.VolumeMounts[0].MountPath != "/dev/shm" || c.VolumeMounts[1].MountPath != "/extra" {
		t.Errorf("mounts: got %v, want /dev/shm and /extra", c.VolumeMounts)
	}
}

func TestTritonPorts(t *testing.T) {
	m := manifest.Render(t, `
triton:
  service:
    ports:
      - {name: http, port: 80, targetPort: 8000}
      - {name: grpc, port: 81, targetPort: 8001, appProtocol: grpc}
      - {name: metrics, port: 82, targetPort: 8002, protocol: TCP}
`)
	_, c := triton(t, m)
	service := manifest.Object[corev1.Service](t, m, "triton/service.yaml")
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("clusterIP is %q, want none", service.Spec.ClusterIP)
	}
	if p := service.Spec.Ports[1].AppProtocol; p == nil || *p != "grpc" {
		t.Errorf("application protocol: got %v, want grpc", p)
	}
	for i, p := range service.Spec.Ports {
		if p.Port != int32(80+i) || p.TargetPort.IntValue() != 8000+i || c.Ports[i].ContainerPort != int32(8000+i) || p.Name != c.Ports[i].Name {
			t.Errorf("port %d: Service has %v, container %v", i, p, c.Ports[i])
		}
	}
}
