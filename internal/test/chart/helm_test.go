package chart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// parent is a chart of somebody else's that holds this one.
const parent = `apiVersion: v2
name: parent
version: 1.0.0
dependencies:
  - name: supersonic
    version: ">=0.0.0-0"
    condition: supersonic.enabled
`

func TestChartInsideAnother(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "charts", "supersonic")
	if err := os.CopyFS(inner, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "Chart.yaml", parent)
	for _, tc := range []struct{ name, values, want, wantErr string }{
		{name: "defaults", values: "supersonic: {enabled: true}", want: "name: outer-triton"},
		{
			name: "keda-and-a-global-of-the-parent", want: "cooldownPeriod: 600",
			values: "global: {site: here}\nsupersonic: {enabled: true, keda: {enabled: true, minReplicaCount: 0}, prometheus: {enabled: true}}",
		},
		{name: "unknown-key", values: "supersonic: {enabled: true, triton: {replica: 3}}", wantErr: "additional properties 'replica' not allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			write(t, dir, "values.yaml", tc.values)
			out, err := exec.Command(tools.Path(t, "helm"), "template", "outer", dir, "--kube-version", "1.34.0").CombinedOutput()
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(string(out), tc.wantErr) {
					t.Errorf("error is %v, want %q in\n%s", err, tc.wantErr, out)
				}
				return
			}
			if err != nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("%v: want %q in\n%s", err, tc.want, out)
			}
		})
	}
}
