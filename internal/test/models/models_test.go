// Package models tests that a real Triton loads models from where the chart's values say.
package models

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// testModels is a repository of two models.
const testModels = "../proxy/testdata/models"

func pod(t *testing.T, values string) (corev1.PodSpec, corev1.Container) {
	t.Helper()
	spec := manifest.Object[appsv1.Deployment](t, manifest.Render(t, values), "triton/deployment.yaml").Spec.Template.Spec
	return spec, spec.Containers[0]
}

// objectStore runs a real object store whose bucket named models has the test's models.
func objectStore(t *testing.T, key, secret string) (address string) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "models", "site"), os.DirFS(testModels)); err != nil {
		t.Fatal(err)
	}
	address = ports.Loopback(t)
	store := exec.Command(tools.Path(t, "versitygw"), "--port", address, "posix", "--sidecar", t.TempDir(), root)
	store.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+key, "ROOT_SECRET_KEY="+secret)
	var log bytes.Buffer
	store.Stdout, store.Stderr = &log, &log
	if err := store.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = store.Process.Kill()
		_ = store.Wait()
		if t.Failed() {
			t.Logf("the object store says:\n%s", log.String())
		}
	})
	envoy.Await(t, patience, "the object store answers", func() bool {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return address
}

// Triton reads the bucket with the keys of the Secret, and of no other.
func TestModelsFromObjectStore(t *testing.T) {
	address := objectStore(t, "reader", "the secret of reader")
	_, c := pod(t, `
triton:
  args: ["--model-repository=s3://`+address+`/models/site", --exit-timeout-secs=1]
  modelRepository: {enabled: true, storageType: s3, s3: {region: us-east-1, existingSecret: store}}
`)
	for _, tc := range []struct{ name, secret, refused string }{
		{"right-key", "the secret of reader", ""},
		{"wrong-key", "another", "Unable to create S3 filesystem client"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys := map[string]string{"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": tc.secret}
			s := start(t, c, nil, map[string]map[string]string{"store": keys})
			if tc.refused != "" {
				s.checkRefuses(t, tc.refused)
				return
			}
			s.checkServes(t, "double")
		})
	}
}

// The kubelet's volume of a ConfigMap has links and hidden folders, which Triton would
// take for models. What the chart mounts of it has none.
func TestModelsFromConfigMap(t *testing.T) {
	spec, c := pod(t, `
triton:
  args: [--model-repository=/models, --exit-timeout-secs=1]
  modelRepository:
    enabled: true
    storageType: configMap
    mountPath: /models
    configMap:
      name: double
      items:
      - {key: config.pbtxt, path: double/config.pbtxt}
      - {key: model.py, path: double/1/model.py}
`)
	volume := configMapVolume(t, spec.Volumes[0].ConfigMap, map[string]string{
		"config.pbtxt": readFile(t, testModels+"/double/config.pbtxt"),
		"model.py":     readFile(t, testModels+"/double/1/model.py"),
	})
	mount := c.VolumeMounts[0]
	t.Run("as-mounted", func(t *testing.T) {
		start(t, c, map[string]string{mount.MountPath: filepath.Join(volume, mount.SubPath)}, nil).checkServes(t, "double")
	})
	t.Run("whole-volume", func(t *testing.T) {
		start(t, c, map[string]string{mount.MountPath: volume}, nil).checkRefuses(t, "failed to load model '..data'")
	})
}

// configMapVolume lays a ConfigMap out as the kubelet does: files in a folder with a
// time in its name, to which ..data links, to which each name in the volume links.
func configMapVolume(t *testing.T, source *corev1.ConfigMapVolumeSource, data map[string]string) string {
	t.Helper()
	volume := t.TempDir()
	const written = "..2026_01_02_03_04_05.678901234"
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(volume, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	link(written, "..data")
	for _, item := range source.Items {
		path := filepath.Join(volume, written, item.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data[item.Key]), 0o600); err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(item.Path, "/")
		link(filepath.Join("..data", top), top)
	}
	return volume
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
