package node

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Missing features are named, and each probe has its own network namespace.
func TestLacking(t *testing.T) {
	if lacks := Lacks(Dir(t.TempDir())); len(lacks) > 0 {
		t.Skipf("this machine lacks %s", strings.Join(lacks, ", "))
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	got := lacking(t.Context(), os.Environ(), []probe{
		{"nothing", "true"},
		{"our network", fmt.Sprintf("test $(readlink /proc/self/ns/net) = %q", own)},
		{"a program", "no-such-program"},
	})
	if diff := cmp.Diff([]string{"our network", "a program"}, got); diff != "" {
		t.Errorf("lacks (-want +got):\n%s", diff)
	}
}
