package build

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

func TestEveryProgramIsBuiltInAPinnedVersion(t *testing.T) {
	pins, err := tools.Find()
	if err != nil {
		t.Fatal(err)
	}
	names, all := programs(pins)
	slices.Sort(names)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), names); diff != "" {
		t.Errorf("names to build mismatch (-known +built):\n%s", diff)
	}
	for name, p := range all {
		if p.version == "" {
			t.Errorf("%s: no version", name)
		}
	}
}

func TestOwnModule(t *testing.T) {
	upstream := `module go.example/upstream

require (
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
	example.org/part v1.2.3 // indirect
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	example.org/part => ../part
	example.org/fork => example.org/other v1.0.0
)
`
	for _, test := range []struct{ source, want string }{
		{"kubernetes", `module lab/kubernetes

require (
	k8s.io/api v0.34.2
	k8s.io/klog/v2 v2.130.1
	example.org/part v1.2.3 // indirect
)

replace (
	k8s.io/api => k8s.io/api v0.34.2
	example.org/part => example.org/part v0.34.2
	example.org/fork => example.org/other v1.0.0
)
`},
		{"etcd", `module lab/etcd

require (
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
	example.org/part v1.2.3 // indirect
)

replace (


	example.org/fork => example.org/other v1.0.0
)
`},
	} {
		t.Run(test.source, func(t *testing.T) {
			got := string(own(program{source: test.source, version: "1.34.2"}, []byte(upstream)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("go.mod mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFewerScalers(t *testing.T) {
	choice := func(names ...string) string {
		var s strings.Builder
		for _, n := range names {
			s.WriteString("\tcase \"" + n + "\":\n\t\treturn scalers.New(config)\n")
		}
		return s.String()
	}
	got, err := fewerScalers([]byte(choice("kafka", "cpu", "memory", "mysql", "prometheus", "solr")))
	if want := choice("cpu", "memory", "prometheus"); err != nil || string(got) != want {
		t.Errorf("choice = %q, %v, want %q", got, err, want)
	}
	if _, err := fewerScalers([]byte(choice("kafka", "prometheus"))); err == nil {
		t.Error("a choice without two of the scalers is taken")
	}
}
