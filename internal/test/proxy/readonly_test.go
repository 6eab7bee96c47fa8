package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// pod runs a command where only the folders before the first -- can be written to, as in a container whose root file
// system is read-only. Every container has /dev/shm. The folders before the second -- can be read, also if one of the
// first hides them: a checkout may be in /tmp.
const pod = `
set -e
mount --make-rprivate /
mount --rbind / /mnt
mount -t tmpfs tmpfs /dev/shm
while [ "$1" != -- ]; do mount -t tmpfs tmpfs "$1"; shift; done
shift
while [ "$1" != -- ]; do mkdir -p "$1"; mount --bind "/mnt$1" "$1"; mount -o remount,bind,ro "$1"; shift; done
shift
umount -l /mnt
mount -o remount,bind,ro /
exec "$@"
`

// A real Triton runs on a read-only root file system with the chart's volumes and environment: it loads models, including
// one that a client sends, and a model can write temporary files, caches and shared memory, and nothing else.
func TestTritonOnAReadOnlyRoot(t *testing.T) {
	m := manifest.Render(t, "triton: {securityContext: {readOnlyRootFilesystem: true}}")
	server := manifest.Object[appsv1.Deployment](t, m, "triton/deployment.yaml").Spec.Template.Spec.Containers[0]
	var writable, environment []string
	for _, mount := range server.VolumeMounts {
		if !mount.ReadOnly {
			writable = append(writable, mount.MountPath)
		}
	}
	for _, e := range server.Env {
		environment = append(environment, e.Name+"="+e.Value)
	}
	url := runReadOnly(t, writable, environment)
	loadFromClient(t, url, "scratch", "testdata/readonly/model.py")
	var answer struct{ Outputs []struct{ Data []float64 } }
	request := `{"inputs":[{"name":"IN","shape":[1],"datatype":"FP32","data":[1]}]}`
	if err := json.Unmarshal(ask(t, url+"/v2/models/scratch/infer", request), &answer); err != nil {
		t.Fatal(err)
	}
	temporary, cache, kernels, shared, beside := 1.0, 1.0, 1.0, 1.0, 0.0
	if diff := cmp.Diff([]float64{temporary, cache, kernels, shared, beside}, answer.Outputs[0].Data); diff != "" {
		t.Errorf("what the model can write (-want +got):\n%s", diff)
	}
}

// runReadOnly runs a replica with a model, and returns the URL of its HTTP port.
func runReadOnly(t *testing.T, writable, environment []string) (url string) {
	t.Helper()
	models, err := filepath.Abs("testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	const host = "127.0.0.1"
	port := ports.Free(t)
	command := slices.Concat([]string{"--mount", "bash", "-c", pod, "pod"}, writable, []string{
		"--", models, tools.Dir(t, "triton"), "--", tools.Path(t, "tritonserver"), "--model-repository=" + models, "--allow-gpu-metrics=false",
		"--http-address=" + host, "--http-port=" + port, "--grpc-address=" + host, "--grpc-port=" + ports.Free(t),
		"--metrics-address=" + host, "--metrics-port=" + ports.Free(t), "--exit-timeout-secs=2",
		"--model-control-mode=explicit", "--load-model=double",
	})
	server := exec.Command("unshare", command...)
	server.Dir, server.Env = models, append(os.Environ(), environment...)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		<-ended
		if t.Failed() {
			t.Logf("Triton says:\n%s", log.String())
		}
	})
	url = "http://" + net.JoinHostPort(host, port)
	envoy.Await(t, 2*time.Minute, "Triton is ready", func() bool {
		select {
		case <-ended:
			t.Fatal("Triton has ended")
		default:
		}
		answer, err := http.Get(url + "/v2/health/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return url
}

// loadFromClient sends a model to Triton, which writes it to a temporary folder.
func loadFromClient(t *testing.T, url, name, file string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(name string, size int) []any {
		return []any{map[string]any{"name": name, "data_type": "TYPE_FP32", "dims": []int{size}}}
	}
	config, err := json.Marshal(map[string]any{"backend": "python", "input": tensor("IN", 1), "output": tensor("OUT", 5)})
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(map[string]any{"parameters": map[string]any{
		"config": string(config), "file:1/model.py": base64.StdEncoding.EncodeToString(source),
	}})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, url+"/v2/repository/models/"+name+"/load", string(request))
}

func ask(t *testing.T, url, body string) []byte {
	t.Helper()
	answer, err := http.Post(url, "application/json", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, answer.Status, err, text)
	}
	return text
}
