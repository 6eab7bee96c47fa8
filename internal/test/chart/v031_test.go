package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// The example files of 0.3.1 render. Each begins with comments: its release, if that
// is not supersonic, and its warnings.
func TestValuesFilesOf031(t *testing.T) {
	validator := manifest.For(t, "1.34")
	files, err := filepath.Glob("testdata/v031/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := render.Options{Release: "supersonic", Namespace: "cms", KubeVersion: "1.34", Strict: true}
			var want []string
			for _, line := range leadingComments(string(text)) {
				if m := caseRelease.FindStringSubmatch("# " + line); m != nil {
					o.Release = m[1]
					continue
				}
				want = append(want, line)
			}
			values := manifest.Values(t, string(text))
			m, err := render.Chart(manifest.Chart(t), values, o)
			if err != nil {
				t.Fatal(err)
			}
			delete(m, "NOTES.txt")
			for _, err := range validator.Check(m) {
				t.Error(err)
			}
			warnings, err := render.Warnings(manifest.Chart(t), values, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(want, "\n"), warnings.Error()); diff != "" {
				t.Errorf("warnings mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// A keyCase sets keys of 0.3.1 to values other than their defaults. Fields are written
// as Kind/name/path, which may continue into a string that contains YAML:
// ConfigMap/sonic-envoy-config/data/envoy.yaml/admin.
type keyCase struct {
	Set      map[string]any    `json:"set"`
	Want     map[string]any    `json:"want"`     // field: its value
	Has      map[string]string `json:"has"`      // field: a substring
	Absent   []string          `json:"absent"`   // objects and fields that must not exist
	Errors   []string          `json:"errors"`   // expected errors
	Warnings []string          `json:"warnings"` // expected warnings
}

func TestKeysOf031(t *testing.T) {
	files, err := filepath.Glob("testdata/v031/keys/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]keyCase{}
		if err := yaml.UnmarshalStrict(text, &all); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, c := range all {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+name, func(t *testing.T) { c.check(t) })
		}
	}
}

func (c keyCase) check(t *testing.T) {
	if len(c.Want)+len(c.Has)+len(c.Absent)+len(c.Errors)+len(c.Warnings) == 0 {
		t.Fatal("says nothing that could be wrong")
	}
	docs, err := render.Documents(manifest.Chart(t), c.Set, manifest.Options)
	if err != nil || len(c.Errors) > 0 {
		if diff := cmp.Diff(strings.Join(c.Errors, "\n"), fmt.Sprint(err)); diff != "" {
			t.Errorf("errors mismatch (-want +got):\n%s", diff)
		}
		return
	}
	objects := byKindAndName(t, docs)
	for path, want := range c.Want {
		got, _ := field(objects, path)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", path, diff)
		}
	}
	for path, want := range c.Has {
		got, _ := field(objects, path)
		if text := fmt.Sprint(got); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", path, want, text)
		}
	}
	for _, path := range c.Absent {
		if got, there := field(objects, path); there {
			t.Errorf("%s: is there: %v", path, got)
		}
	}
	if c.Warnings != nil {
		warnings, err := render.Warnings(manifest.Chart(t), c.Set, manifest.Options)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Join(c.Warnings, "\n"), warnings.Error()); diff != "" {
			t.Errorf("warnings mismatch (-want +got):\n%s", diff)
		}
	}
}

func byKindAndName(t *testing.T, docs []render.Document) map[string]any {
	t.Helper()
	kinds := map[string]any{}
	for _, d := range docs {
		object := manifest.Values(t, d.Text)
		kind := object["kind"].(string)
		if kinds[kind] == nil {
			kinds[kind] = map[string]any{}
		}
		kinds[kind].(map[string]any)[object["metadata"].(map[string]any)["name"].(string)] = object
	}
	return kinds
}

// field follows a path of keys and list positions; [name=x] is the entry of a list
// with that name, and ~1 stands for a slash in a key.
func field(node any, path string) (any, bool) {
	for word := range strings.SplitSeq(path, "/") {
		word = strings.ReplaceAll(word, "~1", "/")
		if text, ok := node.(string); ok {
			var inside any
			if yaml.Unmarshal([]byte(text), &inside) != nil {
				return nil, false
			}
			node = inside
		}
		next, ok := step(node, word)
		if !ok {
			return nil, false
		}
		node = next
	}
	return node, true
}

func step(node any, word string) (any, bool) {
	switch node := node.(type) {
	case map[string]any:
		next, ok := node[word]
		return next, ok
	case []any:
		if i, err := strconv.Atoi(word); err == nil && i < len(node) {
			return node[i], true
		}
		for _, entry := range node {
			if m, ok := entry.(map[string]any); ok && "[name="+fmt.Sprint(m["name"])+"]" == word {
				return m, true
			}
		}
	}
	return nil, false
}

// The objects of 0.3.1. An upgrade fails if the selector of one changes, and creates a
// second object if a name changes. S stands for the instance.
var objectsOf031 = []struct {
	path      string // Kind/name
	component string // of its selector, if it has one
}{
	{"Deployment/S-triton", "triton"},
	{"Service/S-triton", "triton"},
	{"ConfigMap/S-envoy-config", ""},
	{"ConfigMap/S-lua-config", ""},
	{"Deployment/S-envoy", "envoy"},
	{"Service/S", "envoy"},
	{"Ingress/S-ingress-grpc", ""},
	{"ScaledObject/S-keda-so", ""},
	{"ConfigMap/S-prometheus-config", ""},
	{"Role/S-prometheus-role", ""},
	{"RoleBinding/S-prometheus-role-binding", ""},
	{"ServiceAccount/S-prometheus-sa", ""},
	{"ConfigMap/S-grafana-default-dashboard", ""},
	{"ConfigMap/S-metrics-collector-config", ""},
	{"Deployment/S-metrics-collector", "metrics-collector"},
	{"Service/S-metrics-collector", "metrics-collector"},
	{"Ingress/S-metrics-collector-ingress", ""},
	// Services of the subcharts, whose names users have in other files.
	{"Service/S-prometheus-server", "prometheus"},
	{"Service/S-grafana", "grafana"},
	{"Service/S-tempo", "tempo"},
	{"Service/S-opentelemetry-collector", "opentelemetry-collector"},
}

func TestObjectsOf031(t *testing.T) {
	values := manifest.Values(t, `
envoy: {ingress: {enabled: true, hostName: a.example.org}, rate_limiter: {prometheus_based: {enabled: true}}}
keda: {enabled: true}
prometheus: {enabled: true}
grafana: {enabled: true}
tempo: {enabled: true}
opentelemetry-collector: {enabled: true}
metricsCollector: {enabled: true, ingress: {enabled: true, hostName: b.example.org}}
`)
	for name, override := range map[string]string{"release": "", "name-override": "other"} {
		t.Run(name, func(t *testing.T) {
			instance := manifest.Options.Release
			if override != "" {
				instance = override
			}
			values["nameOverride"] = override
			docs, err := render.Documents(manifest.Chart(t), values, manifest.Options)
			if err != nil {
				t.Fatal(err)
			}
			objects := byKindAndName(t, docs)
			for _, o := range objectsOf031 {
				checkObject(t, objects, strings.Replace(o.path, "/S", "/"+instance, 1), o.component, instance)
			}
		})
	}
}

func checkObject(t *testing.T, objects map[string]any, path, component, instance string) {
	t.Helper()
	if _, there := field(objects, path); !there {
		t.Errorf("%s: not rendered", path)
		return
	}
	kind, _, _ := strings.Cut(path, "/")
	selector := map[string]string{"Deployment": "/spec/selector/matchLabels", "Service": "/spec/selector"}[kind]
	if selector == "" {
		return
	}
	got, _ := field(objects, path+selector)
	want := map[string]any{
		"app.kubernetes.io/name":      "supersonic",
		"app.kubernetes.io/instance":  instance,
		"app.kubernetes.io/component": component,
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("%s: selector mismatch (-want +got):\n%s", path, diff)
	}
}
