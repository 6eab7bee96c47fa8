package promql_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies limits what a program that imports only the library depends on.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	foreign := regexp.MustCompile(`helm|k8s\.io|sprig|yaml|cobra|supersonic/(chart|internal|cmd)`)
	for _, dep := range deps {
		if foreign.MatchString(dep) {
			t.Errorf("depends on %s", dep)
		}
	}
	if len(deps) > 320 {
		t.Errorf("depends on %d packages, want the parser's at most, about 270", len(deps))
	}
}
