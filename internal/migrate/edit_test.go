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

// inputs are the layers of all cases, and the values files of this chart.
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

// paths are all keys of maps in maps.
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

// kept says whether the lines are all of the text's, in their order, but for one.
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

// Whichever key is removed, the other lines keep their bytes and their order. Only
// what an anchor shares, or brings in, can't be removed.
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

// Whichever key is moved below another section and back, its value is the same.
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
