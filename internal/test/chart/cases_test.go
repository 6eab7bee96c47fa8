package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/values"
)

const valuesDir = "../../../values"

// A valuesCase is one file of values/, which users pass with -f.
type valuesCase struct {
	name      string // geddes-cms for values-geddes-cms.yaml
	file      string
	release   string
	namespace string
	vals      map[string]any
}

// A values file may name its release and namespace:
// # release: sonic-a, namespace: cms
var caseRelease = regexp.MustCompile(`(?m)^# release: ([^\s,]+)(?:, namespace: (\S+))?$`)

func cases(t testing.TB) []valuesCase {
	t.Helper()
	files, err := filepath.Glob(valuesDir + "/values-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no values files: %v", valuesDir, err)
	}
	var all []valuesCase
	for _, file := range files {
		user, err := render.Inputs{Files: []string{file}, Unique: true}.Merge()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "values-"), ".yaml")
		c := valuesCase{name, file, "supersonic", "cms", user.Values}
		if m := caseRelease.FindStringSubmatch(string(text)); m != nil {
			c.release = m[1]
			if m[2] != "" {
				c.namespace = m[2]
			}
		}
		all = append(all, c)
	}
	return all
}

func named(t testing.TB, name string) valuesCase {
	t.Helper()
	all := cases(t)
	i := slices.IndexFunc(all, func(c valuesCase) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("no values/values-%s.yaml", name)
	}
	return all[i]
}

// forEachValuesFile runs a test for every values file, in parallel.
func forEachValuesFile(t *testing.T, test func(*testing.T, valuesCase)) {
	t.Helper()
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

func (c valuesCase) options() render.Options {
	return render.Options{Release: c.release, Namespace: c.namespace, KubeVersion: "1.34", Strict: true}
}

func (c valuesCase) manifests(t testing.TB) render.Manifests {
	t.Helper()
	m, err := render.Chart(manifest.Chart(t), c.vals, c.options())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (c valuesCase) scaling(t testing.TB) values.Scaling {
	t.Helper()
	all, err := render.Values(manifest.Chart(t), c.vals)
	if err != nil {
		t.Fatal(err)
	}
	s, err := values.Read(all, c.release, c.namespace)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
