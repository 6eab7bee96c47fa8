package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/render"
)

// Files of other systems are read.
func TestForeignFiles(t *testing.T) {
	for name, text := range map[string]string{
		"byte-order-mark":   "\ufefftriton:\n  replicas: 7\n",
		"carriage-returns":  "triton:\r\n  replicas: 7\r\n",
		"no-end-of-line":    "triton: {replicas: 7}",
		"json":              `{"triton": {"replicas": 7}}`,
		"document-in-marks": "---\ntriton: {replicas: 7}\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			user, err := render.Inputs{Files: []string{"-"}, Stdin: strings.NewReader(text), Unique: true}.Merge()
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"triton": map[string]any{"replicas": 7.0}}
			if diff := cmp.Diff(want, user.Values); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}
