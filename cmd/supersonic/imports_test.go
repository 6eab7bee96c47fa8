package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fastmachinelearning/supersonic/"

// layers of what is shipped: a package imports only those of lower layers.
var layers = map[string]int{
	"chart":           0,
	"promql":          0,
	"internal/hpa":    0,
	"internal/render": 1,
	"internal/values": 1,
	"internal/sim":    1,
	"internal/live":   1,
	"internal/cli":    2,
	"cmd/supersonic":  3,
}

// owners are the only ones that import a library.
var owners = map[string][]string{
	"helm.sh/helm/":                    {"internal/render"},
	"github.com/spf13/":                {"internal/cli"},
	"github.com/prometheus/prometheus": {"promql", "internal/sim", "internal/live"},
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range shipped(t) {
		layer, ok := layers[p.name]
		if !ok {
			t.Errorf("%s is shipped and has no layer", p.name)
		}
		for _, path := range p.Imports {
			if name, ours := strings.CutPrefix(path, module); ours && layers[name] >= layer {
				t.Errorf("%s imports %s, which is not below it", p.name, name)
			}
			for library, may := range owners {
				if strings.HasPrefix(path, library) && !slices.Contains(may, p.name) {
					t.Errorf("%s imports %s, which is for %v alone", p.name, path, may)
				}
			}
		}
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
	name       string
}

// shipped are the module's packages in the command.
func shipped(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if name, ours := strings.CutPrefix(p.ImportPath, module); ours {
			p.name = name
			all = append(all, p)
		}
	}
	if len(all) < 3 {
		t.Fatalf("found %d packages of %s", len(all), module)
	}
	return all
}
