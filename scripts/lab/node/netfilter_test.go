package node

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is lacking is named, and each probe has a network of its own.
func TestLacking(t *testing.T) {
	if lacks := Lacks(Dir(t.TempDir())); len(lacks) > 0 {
		t.Skipf("this machine lacks %s", strings.Join(lacks, ", "))
	}
	got := lacking(t.Context(), os.Environ(), []probe{
		{"nothing", "true"},
		{"a network card", "grep -q eth0 /proc/net/dev"},
		{"a program", "no-such-program"},
	})
	if diff := cmp.Diff([]string{"a network card", "a program"}, got); diff != "" {
		t.Errorf("lacks (-want +got):\n%s", diff)
	}
}
