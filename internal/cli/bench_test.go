package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// BenchmarkTemplate runs supersonic template and helm template in turns, as
// processes, on the same chart and values. The budget of the ratio is 1.5.
func BenchmarkTemplate(b *testing.B) {
	helm := tools.Path(b, "helm")
	supersonic := filepath.Join(b.TempDir(), "supersonic")
	if said, err := exec.Command("go", "build", "-o", supersonic, "../../cmd/supersonic").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, said)
	}
	values := []string{"-n", "cms", "-f", "../../values/values-minimal-full.yaml", "--kube-version", "1.34"}
	var helmTime, ourTime time.Duration
	for b.Loop() {
		want, took := process(b, helm, append([]string{"template", "supersonic", "../../chart"}, values...))
		helmTime += took
		got, took := process(b, supersonic, append([]string{"template", "supersonic"}, values...))
		ourTime += took
		if !bytes.Equal(want, got) {
			b.Fatal("not the same bytes")
		}
	}
	ratio := float64(helmTime) / float64(ourTime)
	b.ReportMetric(ratio, "x-faster-than-helm")
	if ratio < 1.5 {
		b.Errorf("helm takes %.2f times as long, want at least 1.5", ratio)
	}
	b.ReportMetric(float64(ourTime.Milliseconds())/float64(b.N), "ms/run")
}

func process(b *testing.B, program string, args []string) ([]byte, time.Duration) {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null", "HELM_NAMESPACE=")
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	return out, time.Since(start)
}
