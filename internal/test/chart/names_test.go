package chart_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

// everything enables every component, so that every name is used.
func everything(t testing.TB) valuesCase { return named(t, "minimal-full") }

// Release names that Helm accepts give valid manifests.
func TestReleaseNamesValid(t *testing.T) {
	validator := manifest.For(t, "1.34")
	for _, name := range []string{
		"a", "sonic-2", "x" + strings.Repeat("y", 52), strings.Repeat("long-name-", 5) + "abc", "true", "null", "no", "e1",
	} {
		t.Run(name, func(t *testing.T) {
			c := everything(t)
			c.release = name
			m := c.manifests(t)
			delete(m, "NOTES.txt")
			for _, err := range validator.Check(m) {
				t.Error(err)
			}
		})
	}
}

// Release names that Kubernetes would reject are errors that say what to do.
func TestRefusedReleaseNames(t *testing.T) {
	for _, name := range []string{"1-sonic", "sonic.v2", "7"} {
		t.Run(name, func(t *testing.T) {
			c := everything(t)
			c.release = name
			_, err := render.Chart(manifest.Chart(t), c.vals, c.options())
			var errs promql.FieldErrors
			if !errors.As(err, &errs) || len(errs) != 1 {
				t.Fatalf("got %v, want one error", err)
			}
			f := errs[0]
			text := f.Error()
			if f.Field != "release name" || !strings.Contains(text, `got "`+name+`"`) || !strings.Contains(text, "set nameOverride") {
				t.Errorf("got %v, which does not name the release, the value and nameOverride", f)
			}
			c.vals = map[string]any{"nameOverride": "sonic"}
			if _, err := render.Chart(manifest.Chart(t), c.vals, c.options()); err != nil {
				t.Errorf("nameOverride is no way out: %v", err)
			}
		})
	}
}

func TestReleaseNamesHelmRefuses(t *testing.T) {
	for _, name := range []string{"", "Sonic", "a_b", "-a", "a-", "a b", strings.Repeat("x", 54), "a\n"} {
		_, err := render.Chart(manifest.Chart(t), nil, render.Options{Release: name, Namespace: "cms"})
		var invalid *promql.FieldError
		if !errors.As(err, &invalid) || invalid.Field != "release name" {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// Two releases in one namespace share no objects, even if their names are long and similar.
func TestReleasesShareNoObject(t *testing.T) {
	stem := strings.Repeat("long-name-", 5)
	seen := map[string]string{}
	for _, release := range []string{stem + "abc", stem + "abd", "sonic", "sonic-envoy"} {
		c := everything(t)
		c.release = release
		docs, err := render.Documents(manifest.Chart(t), c.vals, c.options())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			id := identity(t, d.Text)
			if other, ok := seen[id]; ok && other != release {
				t.Errorf("%s: made by %s and by %s", id, other, release)
			}
			seen[id] = release
		}
	}
}
