package chart_test

import (
	"net"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

func TestHelmTestAsksTheFleetThroughEnvoy(t *testing.T) {
	m := manifest.Render(t, "")
	bootstrap := manifest.Object[corev1.ConfigMap](t, m, "envoy/configmap.yaml").Data["envoy.yaml"]
	triton := envoy.StartTriton(t)
	proxy := envoy.Start(t, envoy.Options{
		Bootstrap: bootstrap,
		Endpoints: map[string]string{"triton_grpc_service": triton.Addr, "triton_grpc_health": triton.Addr},
	})
	run := func() (string, error) {
		c := manifest.Object[corev1.Pod](t, m, "tests/fleet-ready.yaml").Spec.Containers[0]
		host, port, err := net.SplitHostPort(proxy.Addr(t, "listener_grpc"))
		if err != nil {
			t.Fatal(err)
		}
		command := append(c.Command, host, port, "2", "wake")
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Errorf("with a server that is ready: %v\n%s", err, out)
	}
	triton.Down()
	const cluster, service = "envoy_cluster_name", "triton_grpc_service"
	envoy.Await(t, 30*time.Second, "Envoy has no healthy server", func() bool {
		return proxy.Value(t, "envoy_cluster_membership_healthy", cluster, service) == 0
	})
	if out, err := run(); err == nil {
		t.Errorf("without a server: must fail, got %s", out)
	}
	if n := proxy.Value(t, "envoy_cluster_upstream_cx_none_healthy", cluster, service); n < 1 {
		t.Errorf("without a server: the call that wakes the fleet was not counted, got %g", n)
	}
}
