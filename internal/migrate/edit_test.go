package migrate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// inputs returns the layers of all cases, and the example values of this chart.
func inputs(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			ofHelm := strings.HasPrefix(string(f.Data), headings[0])
			if strings.HasPrefix(f.Name, "in/") && !ofHelm && documents(f.Data) == 1 {
				all[filepath.Base(file)+" "+f.Name] = f.Data
			}
		}
	}
	ours, err := filepath.Glob("../../values/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range ours {
		if all[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// paths returns the path of every key, also in nested maps.
func paths(vals map[string]any, at ...string) [][]string {
	var all [][]string
	for key, value := range vals {
		path := append(slices.Clone(at), key)
		all = append(all, path)
		if inner, ok := value.(map[string]any); ok {
			all = append(all, paths(inner, path...)...)
		}
	}
	return all
}

// kept reports whether the lines are those of the text, in their order, without one of them.
func kept(lines, of []string) bool {
	others := 0
	for _, line := range lines {
		if i := slices.Index(of, line); i >= 0 {
			of = of[i+1:]
			continue
		}
		others++
	}
	return others <= 1
}

// Removing any key leaves the other lines unchanged, in their order. Only keys that
// come from an anchor or share one can't be removed.
func TestRemoveKey(t *testing.T) {
	for name, text := range inputs(t) {
		f, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		before := strings.SplitAfter(string(text), "\n")
		for _, path := range paths(f.vals) {
			g := *f
			switch err := g.remove(path); {
			case errors.Is(err, errShared), errors.Is(err, errBroughtIn):
				if !strings.ContainsAny(string(text), "*") {
					t.Errorf("%s: %v: %v, and there is no anchor", name, path, err)
				}
			case err != nil:
				t.Errorf("%s: %v: %v", name, path, err)
			case !kept(strings.SplitAfter(string(g.src), "\n"), before):
				t.Errorf("%s: without %v:\n%s", name, path, g.src)
			}
		}
	}
}

// A key that is moved into another section and back has the same value.
func TestMoveAndBack(t *testing.T) {
	for name, text := range inputs(t) {
		f, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths(f.vals) {
			g := *f
			away := []string{"there", "below", path[len(path)-1]}
			if err := g.move(path, away); err != nil {
				if !strings.ContainsAny(string(text), "*") {
					t.Errorf("%s: %v: %v, and there is no anchor", name, path, err)
				}
				continue
			}
			if err := g.move(away, path); err != nil {
				t.Errorf("%s: %v back: %v\n%s", name, path, err, g.src)
			}
		}
	}
}
