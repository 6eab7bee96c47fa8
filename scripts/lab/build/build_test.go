package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// Every program is built in a pinned version.
func TestVersionsArePinned(t *testing.T) {
	pins, err := tools.Find()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources(pins) {
		if s.version == "" {
			t.Errorf("%s: no version", s.name)
		}
		for _, p := range s.programs {
			if p.version == "" {
				t.Errorf("%s: no version", p.name)
			}
			if _, err := mains.ReadFile("_mains/" + p.name + "/main.go"); s.module != kedaModule && err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
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
	want := `module lab/node

require k8s.io/kubernetes v1.34.2

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
`
	got := string(own(source{name: "node", module: kubernetesModule, version: "1.34.2"}, []byte(upstream)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("go.mod mismatch (-want +got):\n%s", diff)
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
