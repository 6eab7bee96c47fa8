// Package upgrade tests that upgrades keep the size of the fleet.
package upgrade_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fastmachinelearning/supersonic/internal/migrate"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

const (
	withKEDA    = "keda: {enabled: true, maxReplicaCount: 20}\nprometheus: {enabled: true}"
	withoutKEDA = "triton: {replicas: 3}"
)

// of031 is the Deployment of 0.3.1, which always has a size.
const of031 = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: sonic-triton
  namespace: cms
  labels: &labels {app.kubernetes.io/name: supersonic, app.kubernetes.io/instance: sonic, app.kubernetes.io/component: triton}
spec:
  replicas: 1
  selector: {matchLabels: *labels}
  template:
    metadata: {labels: *labels}
    spec:
      terminationGracePeriodSeconds: 60
      containers:
        - name: triton-server
          image: nvcr.io/nvidia/tritonserver:26.04-py3
          lifecycle: {preStop: {exec: {command: [/bin/sh, -c, touch]}}}
`

func sizeOf(t *testing.T, deployment map[string]any) *int64 {
	t.Helper()
	value, set, err := unstructured.NestedFieldNoCopy(deployment, "spec", "replicas")
	if err != nil {
		t.Fatal(err)
	}
	if !set || value == nil {
		return nil
	}
	var size int64
	if _, err := fmt.Sscan(fmt.Sprint(value), &size); err != nil {
		t.Fatal(err)
	}
	return &size
}

func shown(size *int64) string {
	if size == nil {
		return "no"
	}
	return fmt.Sprint(*size)
}

// each runs a test for both ways in which Helm writes to a cluster.
func each(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Helper()
	for name, serverSide := range map[string]bool{"three-way-merge": false, "server-side-apply": true} {
		t.Run(name, func(t *testing.T) { test(t, newCluster(t, serverSide)) })
	}
}

// A fleet of 0.3.1 that KEDA scaled keeps its size, at the first upgrade and at later
// ones.
func TestFleetOf031KeepsItsSize(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		c.apply(manifest.Values(t, of031))
		c.scaled = true
		c.hpa(7)
		c.helm(withKEDA)
		c.wantSize("first upgrade", 7)
		c.hpa(9)
		c.helm(withKEDA)
		c.wantSize("second upgrade", 9)
		c.hpa(2)
		c.helm(withKEDA + "\ntriton: {image: example.org/triton:2}")
		c.wantSize("third upgrade", 2)
	})
}

// A fleet of 0.3.1 that was never scaled keeps its size too.
func TestUnscaledFleetOf031(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		m := manifest.Values(t, of031)
		m["spec"].(map[string]any)["replicas"] = int64(4)
		c.apply(m)
		c.scaled = true
		c.helm(withKEDA)
		c.wantSize("first upgrade", 4)
	})
}

// A release that was installed with this chart has no size in its manifests, so
// upgrades and rollbacks do not change it.
func TestNoSizeUnderKEDA(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		first := c.helm(withKEDA)
		c.hpa(5)
		second := c.helm(withKEDA + "\ntriton: {image: example.org/triton:2}")
		for _, m := range []map[string]any{first, second} {
			if size := sizeOf(t, m); size != nil {
				t.Errorf("the manifest has %d replicas", *size)
			}
		}
		c.wantSize("upgrade", 5)
		c.apply(first)
		c.wantSize("rollback", 5)
	})
}

// When KEDA is enabled, the fleet keeps its size.
func TestSizeWhenKEDAIsTurnedOn(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		c.helm(withoutKEDA)
		c.wantSize("installation", 3)
		c.helm(withKEDA)
		c.wantSize("KEDA on", 3)
		c.hpa(8)
		c.helm(withKEDA)
		c.wantSize("upgrade", 8)
		c.force = true // Helm has to take the field back from the HPA
		c.helm(withoutKEDA)
		c.force = false
		c.wantSize("KEDA off", 3)
		c.helm(withKEDA)
		c.wantSize("KEDA on again", 3)
	})
}

// A fleet at zero stays there.
func TestZeroIsKept(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		c.apply(manifest.Values(t, of031))
		c.scaled = true
		c.hpa(0)
		c.helm(withKEDA)
		c.wantSize("first upgrade", 0)
	})
}

// The notes list what else changes, only at the upgrade from 0.3.1.
func TestNotesOfTheUpgradeFrom031(t *testing.T) {
	const said = "This upgrade is from 0.3.1"
	c := newCluster(t, false)
	c.apply(manifest.Values(t, of031))
	c.scaled = true
	c.hpa(7)
	c.helm(withKEDA)
	for _, want := range []string{said, "Triton runs as user 1000", "The size of the fleet, 7, is kept"} {
		if !strings.Contains(c.notes, want) {
			t.Errorf("NOTES do not say %q:\n%s", want, c.notes)
		}
	}
	c.helm(withKEDA)
	if strings.Contains(c.notes, said) {
		t.Errorf("NOTES of the second upgrade:\n%s", c.notes)
	}
}

// Argo CD and kubectl apply merge with the last applied manifest, and lookup finds
// nothing: the size is kept if that manifest has none.
func TestSizeWithoutManifest(t *testing.T) {
	for size, remembered := range map[int64]bool{1: true, 7: false} {
		c := newCluster(t, false)
		c.apply(manifest.Values(t, of031))
		c.hpa(7)
		if !remembered {
			delete(c.last["spec"].(map[string]any), "replicas")
		}
		c.apply(manifest.Object[map[string]any](t, manifest.Render(t, withKEDA), "triton/deployment.yaml"))
		c.wantSize(fmt.Sprintf("remembered %t", remembered), size)
	}
}

// helm upgrade --reuse-values would use this chart's templates with the defaults of 0.3.1.
func TestReusedValuesAreRefused(t *testing.T) {
	reused := *manifest.Chart(t)
	chart := *reused.Chart
	chart.Values = manifest.Values(t, string(migrate.DefaultsOf031()))
	reused.Chart = &chart
	_, err := render.Documents(&reused, nil, manifest.Options)
	var invalid promql.FieldErrors
	if !errors.As(err, &invalid) || !invalid.Has("triton.drain") {
		t.Errorf("got %v, want an error about triton.drain", err)
	}
}
