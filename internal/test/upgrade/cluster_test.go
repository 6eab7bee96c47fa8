package upgrade_test

import (
	"encoding/json"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

const (
	release   = "sonic"
	namespace = "cms"
)

// A cluster has the state that an upgrade of the Triton Deployment depends on. It
// merges as Helm does: with the last manifest (Helm 3, and Helm 4 on releases of
// Helm 3), or with server-side apply, both with Kubernetes' own code.
type cluster struct {
	t          *testing.T
	serverSide bool
	force      bool // helm --force-conflicts
	fields     managedfieldstest.TestFieldManager
	last       map[string]any // manifest
	live       map[string]any
	scaled     bool   // a ScaledObject exists
	notes      string // of the last helm
}

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func newCluster(t *testing.T, serverSide bool) *cluster {
	return &cluster{
		t: t, serverSide: serverSide,
		fields: managedfieldstest.NewTestFieldManager(managedfields.NewDeducedTypeConverter(), deployments),
	}
}

// helm installs or upgrades the chart with these values, and returns the Deployment's manifest.
func (c *cluster) helm(values string) map[string]any {
	c.t.Helper()
	m := c.render(values)
	c.apply(m)
	c.scaled = manifest.Values(c.t, values)["keda"] != nil
	return m
}

// render renders as helm does in this cluster, in which lookup finds the objects.
func (c *cluster) render(values string) map[string]any {
	c.t.Helper()
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsUpgrade: c.last != nil, IsInstall: c.last == nil}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = chartutil.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}
	caps.APIVersions = append(caps.APIVersions, "keda.sh/v1alpha1")
	chart := manifest.Chart(c.t).Chart
	vals, err := chartutil.ToRenderValuesWithSchemaValidation(chart, manifest.Values(c.t, values), options, caps, true)
	if err != nil {
		c.t.Fatal(err)
	}
	files, err := engine.RenderWithClientProvider(chart, vals, c)
	if err != nil {
		c.t.Fatal(err)
	}
	c.notes = files["supersonic/templates/NOTES.txt"]
	var m map[string]any
	if err := yaml.Unmarshal([]byte(files["supersonic/templates/triton/deployment.yaml"]), &m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// GetClientFor makes lookup query c.
func (c *cluster) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	var objects []runtime.Object
	if c.live != nil {
		objects = append(objects, &unstructured.Unstructured{Object: c.live})
	}
	if c.scaled {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
			"metadata": map[string]any{"name": release + "-keda-so", "namespace": namespace},
		}})
	}
	resources := map[string]schema.GroupVersionResource{
		"Deployment":   {Group: "apps", Version: "v1", Resource: "deployments"},
		"ScaledObject": {Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"},
	}
	lists := map[schema.GroupVersionResource]string{}
	for kind, resource := range resources {
		lists[resource] = kind + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	return client.Resource(resources[kind]), true, nil
}

// apply applies a manifest to the cluster, and makes it the last one.
func (c *cluster) apply(m map[string]any) {
	c.t.Helper()
	switch {
	case c.serverSide:
		if err := c.fields.Apply(&unstructured.Unstructured{Object: m}, "helm", c.force); err != nil {
			c.t.Fatal(err)
		}
		c.live = c.fields.Live().(*unstructured.Unstructured).Object
	case c.live == nil:
		c.live = m
	default:
		c.live = c.merged(m)
	}
	c.last = m
	if _, set, _ := unstructured.NestedFieldNoCopy(c.live, "spec", "replicas"); !set {
		c.write(1, "apiserver") // its default
	}
}

// merged returns the live Deployment after Helm's patch.
func (c *cluster) merged(m map[string]any) map[string]any {
	c.t.Helper()
	meta, err := strategicpatch.NewPatchMetaFromStruct(appsv1.Deployment{})
	if err != nil {
		c.t.Fatal(err)
	}
	live := c.json(c.live)
	patch, err := strategicpatch.CreateThreeWayMergePatch(c.json(c.last), c.json(m), live, meta, true)
	if err != nil {
		c.t.Fatal(err)
	}
	patched, err := strategicpatch.StrategicMergePatch(live, patch, appsv1.Deployment{})
	if err != nil {
		c.t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(patched, &object); err != nil {
		c.t.Fatal(err)
	}
	return object
}

func (c *cluster) json(object map[string]any) []byte {
	c.t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// write sets the live size, as a manager other than Helm.
func (c *cluster) write(size int64, manager string) {
	c.t.Helper()
	object := (&unstructured.Unstructured{Object: c.live}).DeepCopy()
	if err := unstructured.SetNestedField(object.Object, size, "spec", "replicas"); err != nil {
		c.t.Fatal(err)
	}
	c.live = object.Object
	if c.serverSide {
		if err := c.fields.Update(object, manager); err != nil {
			c.t.Fatal(err)
		}
		c.live = c.fields.Live().(*unstructured.Unstructured).Object
	}
}

// hpa scales the fleet.
func (c *cluster) hpa(size int64) { c.write(size, "kube-controller-manager") }

// wantSize checks the live size.
func (c *cluster) wantSize(when string, want int64) {
	c.t.Helper()
	if got := sizeOf(c.t, c.live); got == nil || *got != want {
		c.t.Errorf("%s: %s replicas, want %d", when, shown(got), want)
	}
}
