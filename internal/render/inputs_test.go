package render_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func valuesFiles(t *testing.T, texts ...string) []string {
	t.Helper()
	var names []string
	for i, text := range texts {
		name := filepath.Join(t.TempDir(), string(rune('a'+i))+".yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// Inputs are merged as Helm does.
func TestMergeInputs(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   render.Inputs
		want string
	}{
		{"later-file-wins", render.Inputs{Files: valuesFiles(t, "a: {b: 1, c: 1}", "a: {b: 2}")}, "a: {b: 2, c: 1}"},
		{"lists-are-replaced", render.Inputs{Files: valuesFiles(t, "a: [1, 2]", "a: [3]")}, "a: [3]"},
		{"null-stays", render.Inputs{Files: valuesFiles(t, "a: {b: 1}", "a: null")}, "a: null"},
		{"flag-over-file", render.Inputs{Files: valuesFiles(t, "a: {b: x, c: 1}"), SetString: []string{"a.b=2"}}, `a: {b: "2", c: 1}`},
		{"into-a-list", render.Inputs{Files: valuesFiles(t, "a: [{b: x}, {b: y}]"), SetString: []string{"a[1].b=z"}}, `a: [{b: x}, {b: z}]`},
		{"json-then-set", render.Inputs{SetJSON: []string{`a={"b":["x"]}`}, SetString: []string{"a.c=d"}}, "a: {b: [x], c: d}"},
		{"literal", render.Inputs{SetLiteral: []string{"a=b,c={d}"}}, "a: 'b,c={d}'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.in.Merge()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(manifest.Values(t, tc.want), got.Values); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The origin of a key is what sets it last.
func TestOrigin(t *testing.T) {
	files := valuesFiles(t, "keda: {minReplicaCount: 1, scaleUp: {stepsize: 1}}\ntriton: {env: [{name: A}]}", "keda: {minReplicaCount: 2}")
	u, err := render.Inputs{Files: files, Set: []string{"envoy.replicas=2"}}.Merge()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"keda.minReplicaCount":     files[1],
		"keda.scaleUp.stepsize":    files[0],
		"keda.maxReplicaCount":     files[1], // nobody sets it; the last to write beside it
		"triton.env[0].name":       files[0],
		"triton.env[0].value":      files[0],
		"envoy.replicas":           "--set",
		"serverLoadThreshold":      "",
		"release name":             "",
		`triton.annotations."a.b"`: files[0],
	} {
		if got := u.Origin(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}
