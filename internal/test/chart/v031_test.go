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

// The example files of 0.3.1, as its users have them. Each begins with its release,
// where that is not supersonic, and the advice that it gets, as comments.
func TestValuesFilesOf031Render(t *testing.T) {
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
			advice, err := render.Advice(manifest.Chart(t), values, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(want, "\n"), advice.Error()); diff != "" {
				t.Errorf("advice mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// A keyCase sets keys of 0.3.1 to other values than their defaults. Objects are
// written as Kind/name, then the path to a field, which goes on into a text that
// holds YAML: ConfigMap/sonic-envoy-config/data/envoy.yaml/admin.
type keyCase struct {
	Set    map[string]any    `json:"set"`
	Want   map[string]any    `json:"want"`   // field: its value
	Has    map[string]string `json:"has"`    // field: a part of its text
	Absent []string          `json:"absent"` // objects and fields that are not there
	Faults []string          `json:"faults"` // the sentences that refuse the values
	Advice []string          `json:"advice"` // the sentences about values that render
}

func TestKeysOf031HaveTheirEffect(t *testing.T) {
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
	if len(c.Want)+len(c.Has)+len(c.Absent)+len(c.Faults)+len(c.Advice) == 0 {
		t.Fatal("says nothing that could be wrong")
	}
	docs, err := render.Documents(manifest.Chart(t), c.Set, manifest.Options)
	if err != nil || len(c.Faults) > 0 {
		if diff := cmp.Diff(strings.Join(c.Faults, "\n"), fmt.Sprint(err)); diff != "" {
			t.Errorf("faults mismatch (-want +got):\n%s", diff)
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
	if c.Advice != nil {
		advice, err := render.Advice(manifest.Chart(t), c.Set, manifest.Options)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Join(c.Advice, "\n"), advice.Error()); diff != "" {
			t.Errorf("advice mismatch (-want +got):\n%s", diff)
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
