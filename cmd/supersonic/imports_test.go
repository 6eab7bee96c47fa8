package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fastmachinelearning/supersonic/"

// owners of a library are the only rooms that import it.
var owners = map[string][]string{
	"helm.sh/helm/":                     {"internal/render"},
	"github.com/spf13/":                 {"internal/cli"},
	"github.com/grafana/":               {"internal/generate"},
	"github.com/prometheus/prometheus/": {"promql", "internal/generate", "internal/sim"},
}

// goPackage is what the go command says of a package, without its tests.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// room is the top-level folder that a package of ours is in, or the one below internal.
func room(importPath string) string {
	words := strings.SplitN(strings.TrimPrefix(importPath, module), "/", 3)
	if words[0] == "internal" && len(words) > 1 {
		return path.Join("internal", words[1])
	}
	return words[0]
}

// rooms are the module's rooms, without those of tests, each with all that its packages import.
func rooms(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if r := room(p.ImportPath); r != "internal/test" {
			all[r] = append(all[r], p.Imports...)
		}
	}
	for _, r := range []string{"promql", "chart", "internal/cli", "cmd"} {
		if _, ok := all[r]; !ok {
			t.Fatalf("found no %s", r)
		}
	}
	return all
}

// ours are the other rooms that a room imports.
func ours(name string, imports []string) []string {
	var others []string
	for _, path := range imports {
		if strings.HasPrefix(path, module) && room(path) != name {
			others = append(others, room(path))
		}
	}
	return others
}

// rank orders the rooms: the library, the chart and what stands alone; what is built on them, or wraps a library; the
// command line; programs.
func rank(name string, imports []string) int {
	switch {
	case name == "promql" || name == "chart":
		return 0
	case name == "internal/cli":
		return 2
	case !strings.HasPrefix(name, "internal/"):
		return 3
	}
	for _, names := range owners {
		if slices.Contains(names, name) {
			return 1
		}
	}
	return min(1, len(ours(name, imports)))
}

// TestImports holds the arrows between the rooms: a room imports those of a lower rank, and none imports what is for
// tests.
func TestImports(t *testing.T) {
	all := rooms(t)
	for name, imports := range all {
		for _, other := range ours(name, imports) {
			switch {
			case name == "promql" || name == "chart":
				t.Errorf("%s imports %s, but must import nothing of ours", name, other)
			case other == "internal/test":
				t.Errorf("%s imports %s, which is for tests", name, other)
			case rank(other, all[other]) >= rank(name, imports):
				t.Errorf("%s imports %s, which is not below it", name, other)
			}
		}
	}
}

// TestLibraryOwners holds each large library to the rooms that wrap it.
func TestLibraryOwners(t *testing.T) {
	for library, names := range owners {
		used := map[string]bool{}
		for name, imports := range rooms(t) {
			if slices.ContainsFunc(imports, func(path string) bool { return strings.HasPrefix(path, library) }) {
				used[name] = true
			}
		}
		for name := range used {
			if !slices.Contains(names, name) {
				t.Errorf("%s imports %s, which is for %v alone", name, library, names)
			}
		}
		for _, name := range names {
			if !used[name] {
				t.Errorf("%s does not import %s", name, library)
			}
		}
	}
}
