package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var versions = []string{"1.30", "1.34"}

func TestGoodManifests(t *testing.T) {
	for _, version := range versions {
		v := For(t, version)
		for file, text := range files(t, "testdata/good") {
			t.Run(version+"/"+file, func(t *testing.T) {
				for _, err := range v.Check(map[string]string{file: text}) {
					t.Error(err)
				}
			})
		}
	}
}

// A file of testdata/bad begins with exactly the errors that Check must find in it. It may leave out the end of an error.
func TestBadManifests(t *testing.T) {
	for _, version := range versions {
		v := For(t, version)
		for file, text := range files(t, "testdata/bad") {
			t.Run(version+"/"+file, func(t *testing.T) {
				got := v.Check(map[string]string{file: text})
				for _, want := range wantErrors(strings.ReplaceAll(text, "VERSION", version)) {
					said := func(err error) bool { return strings.HasPrefix(err.Error(), file+": "+want) }
					if !slices.ContainsFunc(got, said) {
						t.Errorf("not said: %s", want)
					}
					got = slices.DeleteFunc(got, said)
				}
				for _, err := range got {
					t.Errorf("not wanted: %v", err)
				}
			})
		}
	}
}

// wantErrors reads the comment at the top of a file. Lines that do not begin an error continue the previous one.
func wantErrors(text string) []string {
	var errs []string
	for line := range strings.Lines(text) {
		line, isComment := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#")
		if !isComment {
			break
		}
		if one, begins := strings.CutPrefix(line, " error: "); begins {
			errs = append(errs, one)
		} else {
			errs[len(errs)-1] += "\n" + line[1:]
		}
	}
	return errs
}

// A field that is newer than 1.30 is unknown there: manifests are checked against the release, not the newest API.
func TestFieldsOfAnotherRelease(t *testing.T) {
	pod := map[string]string{"pod.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: sonic}
spec:
  resources: {limits: {cpu: 1}}
  containers: [{name: triton}]
`}
	want := map[string][]string{"1.30": {"pod.yaml: Pod sonic: spec.resources: unknown field"}, "1.34": nil}
	for _, version := range versions {
		var got []string
		for _, err := range For(t, version).Check(pod) {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(want[version], got); diff != "" {
			t.Errorf("Kubernetes %s (-want +got):\n%s", version, diff)
		}
	}
}

func TestObjectInTwoFiles(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sonic}\n"
	got := For(t, "1.34").Check(map[string]string{"a.yaml": object, "b.yaml": object})
	if len(got) != 1 || got[0].Error() != "b.yaml: ConfigMap sonic: already in a.yaml" {
		t.Errorf("got %v, want that b.yaml repeats a.yaml", got)
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files (%v)", dir, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(text)
	}
	return texts
}
