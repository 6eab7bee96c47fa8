package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	corev1 "k8s.io/api/core/v1"
)

// With NetworkPolicies everything works that has to, over connections opened while
// they apply, other pods reach no port, and a replica reaches only itself. Without
// them every pod reaches every port, which shows that the policies make the
// difference.
func TestNetworkPolicies(t *testing.T) {
	client, stranger := outsider(t, "clients"), outsider(t, "strangers")
	f := install(t, "policies", append(gated, "--set", "networkPolicy.enabled=true", "--set-json",
		`networkPolicy.clients=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"clients"}}}]`)...)
	neighbour := startCaller(t, f.Namespace)

	f.firstAnswer(time.Minute)
	f.healthy(time.Minute)
	must(t, client.asks(f))
	if out, err := lab.Helm(t.Context(), "test", f.Name, "--namespace", f.Namespace, "--timeout", "2m"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	f.awaitReached(client, "envoy/grpc")
	f.awaitReached(stranger)
	f.awaitReached(neighbour)
	replica := caller{namespace: f.Namespace, pod: "deployment/" + f.Name + "-triton"}
	f.awaitReached(replica, "triton/grpc", "triton/http", "triton/metrics")
	f.awaitAPI(replica, false)
	f.readsPrometheus()

	must(t, f.Apply(t.Context(), append([]string{"-f", lab.Values("lab")}, gated...)...))
	all := []string{
		"envoy/drain", "envoy/grpc", "envoy/stats", "prometheus/http", "triton/grpc", "triton/http", "triton/metrics",
	}
	f.awaitReached(client, all...)
	f.awaitReached(stranger, all...)
	f.awaitReached(neighbour, all...)
	f.awaitReached(replica, all...)
	f.awaitAPI(replica, true)
}

// readsPrometheus loads the fleet so that it grows only if KEDA reaches Prometheus,
// and calls are refused only if the gate does.
func (f fleet) readsPrometheus() {
	f.t.Helper()
	sizes := f.WatchSizes(f.t.Context())
	run := f.clients(16, "fast", "slow")
	f.awaitSize(sizes, 3*time.Minute, 2)
	f.awaitIndex(2*time.Minute, codes.ResourceExhausted)
	noneFailed(f.t, "clients inside", run.Stop())
	sizes.Stop()
}

// A caller is a pod that connects to others.
type caller struct{ namespace, pod string }

// outsider is a caller in a namespace of its own.
func outsider(t testing.TB, namespace string) caller {
	t.Helper()
	emptyNamespace(t, namespace)
	return startCaller(t, namespace)
}

func startCaller(t testing.TB, namespace string) caller {
	t.Helper()
	pod, err := os.ReadFile("testdata/caller.yaml")
	must(t, err)
	image := "nvcr.io/nvidia/tritonserver:" + lab.Pins.Version("triton")
	c := caller{namespace, "caller"}
	_, err = c.kubectl(t.Context(), strings.ReplaceAll(string(pod), "IMAGE", image), "apply", "-f", "-")
	must(t, err)
	_, err = c.kubectl(t.Context(), "", "wait", "--for=condition=Ready", "pod/caller", "--timeout=1m")
	must(t, err)
	return c
}

func (c caller) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	return lab.Kubectl(ctx, input, append([]string{"--namespace", c.namespace}, args...)...)
}

// asks calls Envoy by its name, as a client does, until a replica answers.
func (c caller) asks(f fleet) error {
	script, err := os.ReadFile(filepath.Join(lab.Chart(), "files", "fleet-ready.sh"))
	if err != nil {
		return err
	}
	host := f.Name + "." + f.Namespace + ".svc.cluster.local"
	_, err = c.kubectl(f.t.Context(), string(script), "exec", "-i", c.pod, "--", "bash", "-s", "--", host, "8001", "30")
	return err
}

// connect prints those of its arguments, HOST:PORT, that accept a connection.
const connect = `for a; do timeout 2 bash -c "exec 3<>/dev/tcp/${a/://}" 2>/dev/null && echo "$a"; done; true`

// reaches returns the ports that accept connections from the caller.
func (c caller) reaches(ctx context.Context, ports map[string][]string) ([]string, error) {
	args := []string{"exec", c.pod, "--", "bash", "-c", connect, "connect"}
	for _, addresses := range ports {
		args = append(args, addresses...)
	}
	out, err := c.kubectl(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	var reached []string
	for name, addresses := range ports {
		if slices.ContainsFunc(strings.Fields(out), func(a string) bool { return slices.Contains(addresses, a) }) {
			reached = append(reached, name)
		}
	}
	slices.Sort(reached)
	return reached, nil
}

// awaitReached waits until a caller reaches exactly these ports.
func (f fleet) awaitReached(c caller, want ...string) {
	f.t.Helper()
	f.await(time.Minute, fmt.Sprintf("what %s in %s reaches", c.pod, c.namespace), func(ctx context.Context) error {
		ports, err := f.ports(ctx)
		if err != nil {
			return err
		}
		if len(ports) != 7 {
			return fmt.Errorf("ports of the release: %v", ports)
		}
		got, err := c.reaches(ctx, ports)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("it reaches %v, want %v", got, want)
		}
		return err
	})
}

// awaitAPI waits until a caller reaches the Kubernetes API, by its name, or does not.
func (f fleet) awaitAPI(c caller, want bool) {
	f.t.Helper()
	f.await(time.Minute, fmt.Sprintf("%s reaches the Kubernetes API: %t", c.pod, want), func(ctx context.Context) error {
		got, err := c.reaches(ctx, map[string][]string{"api": {"kubernetes.default.svc.cluster.local:443"}})
		if err == nil && len(got) > 0 != want {
			err = fmt.Errorf("it reaches %v", got)
		}
		return err
	})
}

// ports are the addresses of the release's pods by COMPONENT/PORT.
func (f fleet) ports(ctx context.Context) (map[string][]string, error) {
	pods, err := f.AllPods(ctx, "")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, p := range pods {
		if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, port := range p.Spec.Containers[0].Ports {
			name := p.Labels["app.kubernetes.io/component"] + "/" + port.Name
			found[name] = append(found[name], fmt.Sprintf("%s:%d", p.Status.PodIP, port.ContainerPort))
		}
	}
	return found, nil
}
