package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

const patience = 2 * time.Minute // on a machine that is busy

// A server is a real Triton that runs as the rendered container says.
type server struct {
	http string
	log  *bytes.Buffer
	done chan error // gets what the process ended with
}

// start runs the container's server. Folders are what is mounted, by mountPath, and
// secrets what the variables refer to.
func start(t *testing.T, c corev1.Container, folders map[string]string, secrets map[string]map[string]string) *server {
	t.Helper()
	s := &server{http: ports.Loopback(t), log: &bytes.Buffer{}, done: make(chan error, 1)}
	cmd := exec.Command(tools.Path(t, "tritonserver"), "--allow-gpu-metrics=false", "--allow-grpc=false", "--allow-metrics=false")
	host, port, _ := net.SplitHostPort(s.http)
	cmd.Args = append(cmd.Args, "--http-address="+host, "--http-port="+port)
	for _, arg := range c.Args {
		for path, folder := range folders {
			arg = strings.Replace(arg, "="+path, "="+folder, 1)
		}
		cmd.Args = append(cmd.Args, arg)
	}
	cmd.Env = append(os.Environ(), "TRITON_AWS_MOUNT_DIRECTORY="+t.TempDir())
	for _, v := range c.Env {
		if value, ok := valueOf(t, v, secrets); ok {
			cmd.Env = append(cmd.Env, v.Name+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
		<-s.done
		if t.Failed() {
			t.Logf("Triton says:\n%s", s.log)
		}
	})
	return s
}

// valueOf is what the kubelet puts into a variable.
func valueOf(t *testing.T, v corev1.EnvVar, secrets map[string]map[string]string) (string, bool) {
	t.Helper()
	if v.ValueFrom == nil {
		return v.Value, true
	}
	ref := v.ValueFrom.SecretKeyRef
	value, ok := secrets[ref.Name][ref.Key]
	if !ok && (ref.Optional == nil || !*ref.Optional) {
		t.Fatalf("%s: no key %s in Secret %s", v.Name, ref.Key, ref.Name)
	}
	return value, ok
}

// ended says whether the process has ended, for [server.start] to end too.
func (s *server) ended() bool {
	select {
	case err := <-s.done:
		s.done <- err
		return true
	default:
		return false
	}
}

func (s *server) isReady() bool {
	answer, err := http.Get("http://" + s.http + "/v2/health/ready")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// checkServes calls a model that doubles its input.
func (s *server) checkServes(t *testing.T, model string) {
	t.Helper()
	envoy.Await(t, patience, "Triton is ready", func() bool { return s.ended() || s.isReady() })
	if s.ended() {
		t.Fatal("Triton has ended")
	}
	const body = `{"inputs": [{"name": "IN", "datatype": "FP32", "shape": [1, 1], "data": [21]}]}`
	answer, err := http.Post("http://"+s.http+"/v2/models/"+model+"/infer", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Error   string
		Outputs []struct{ Data []float64 }
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Outputs) != "[{[42]}]" {
		t.Errorf("%s: got %v %s, want 42", model, got.Outputs, got.Error)
	}
}

// checkRefuses waits for the server to end, and compares what it said.
func (s *server) checkRefuses(t *testing.T, why string) {
	t.Helper()
	envoy.Await(t, patience, "Triton ends", s.ended)
	if text := s.log.String(); !strings.Contains(text, why) {
		t.Errorf("Triton does not say %q:\n%s", why, text)
	}
}
