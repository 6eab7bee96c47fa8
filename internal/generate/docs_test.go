package generate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/generate"
)

func TestDocsAreCurrent(t *testing.T) {
	for name, table := range generate.Docs() {
		page, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := generate.PutTable(string(page), table())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, string(page)); diff != "" {
			t.Errorf("%s is not current, run make generate (-generated +committed):\n%s", name, diff)
		}
	}
}
