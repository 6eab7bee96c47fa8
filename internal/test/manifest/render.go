package manifest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
)

// Options are the default options of tests.
var Options = render.Options{Release: "sonic", Namespace: "cms", Strict: true}

var load = sync.OnceValues(func() (*render.Loaded, error) {
	c, err := render.Load(chart.FS())
	if err == nil {
		c.Metadata.Version = "0.0.0"
	}
	return c, err
})

// Chart returns the chart of this module, with a fixed version.
func Chart(t testing.TB) *render.Loaded {
	t.Helper()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Values parses a user's values in YAML.
func Values(t testing.TB, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// Render returns the manifests of the chart with a user's values in YAML.
func Render(t testing.TB, values string) render.Manifests {
	t.Helper()
	m, err := render.Chart(Chart(t), Values(t, values), Options)
	if err != nil {
		t.Fatalf("values:\n%s\n%v", values, err)
	}
	return m
}

// Object parses the only object of a template into a Kubernetes type. Unknown fields are errors.
func Object[T any](t testing.TB, m render.Manifests, path string) T {
	t.Helper()
	var object T
	text, ok := m[path]
	if !ok {
		t.Fatalf("%s is not rendered", path)
	}
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return object
}

// Objects parses all objects of a template.
func Objects(t testing.TB, m render.Manifests, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for part := range strings.SplitSeq(m[path], "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, part)
		}
		if object != nil {
			all = append(all, object)
		}
	}
	return all
}

// OfKind parses the objects of one kind in all templates.
func OfKind[T any](t testing.TB, m render.Manifests, kind string) []T {
	t.Helper()
	var found []T
	for path, text := range m {
		for part := range strings.SplitSeq("\n"+text, "\n---") {
			if !strings.Contains(part, "\nkind: "+kind+"\n") {
				continue
			}
			var o T
			if err := yaml.Unmarshal([]byte(part), &o); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			found = append(found, o)
		}
	}
	return found
}

// Data returns the data of the ConfigMaps of a template, by key.
func Data(t testing.TB, m render.Manifests, path string) map[string]string {
	t.Helper()
	data := map[string]string{}
	for _, object := range Objects(t, m, path) {
		if object["kind"] != "ConfigMap" {
			continue
		}
		for key, text := range members(object, "data") {
			data[key] = fmt.Sprint(text)
		}
	}
	if len(data) == 0 {
		t.Fatalf("%s holds no ConfigMap with data", path)
	}
	return data
}

// File returns one key of the data of the ConfigMaps of a template.
func File(t testing.TB, m render.Manifests, path, key string) string {
	t.Helper()
	text, ok := Data(t, m, path)[key]
	if !ok {
		t.Fatalf("%s holds no ConfigMap with %s", path, key)
	}
	return text
}
