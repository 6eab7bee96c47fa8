// Package e2e runs the chart in the lab's cluster, with real clients that count
// every request. It runs with "go run . e2e" in scripts/lab, or make e2e.
package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// lab is the cluster, nil outside.
var lab *cluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv("LAB_INSIDE") == "" {
		fmt.Println("skipped: these tests run inside the lab, see docs/lab.md: make lab e2e")
		os.Exit(0)
	}
	var err error
	if lab, err = cluster.Open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A fleet is a release under test.
type fleet struct {
	cluster.Release
	t     testing.TB
	token load.Token // of its clients
}

// install creates a namespace with the test's name and a release in it, and removes
// both at the end. After a failure it prints the state.
func install(t testing.TB, name string, args ...string) fleet {
	t.Helper()
	f := fleet{Release: cluster.Release{Cluster: lab, Name: "sonic", Namespace: name}, t: t}
	f.cleanup()
	must(t, f.Apply(t.Context(), append([]string{"-f", lab.Values("lab")}, args...)...))
	return f
}

// cleanup removes the release and its namespace when the test ends.
func (f fleet) cleanup() {
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
		defer cancel()
		f.explain(ctx)
		if err := f.Uninstall(ctx); err != nil {
			f.t.Error(err)
		}
		if err := lab.RemoveNamespace(ctx, f.Namespace); err != nil {
			f.t.Error(err)
		}
	})
}

// explain prints the state of a fleet whose test has failed.
func (f fleet) explain(ctx context.Context) {
	if f.t.Failed() {
		f.t.Logf("the state of %s:\n%s", f.Namespace, f.state(ctx))
	}
}

// emptyNamespace creates a namespace for the test. What an interrupted run left of
// it is removed first.
func emptyNamespace(t testing.TB, name string) {
	t.Helper()
	must(t, lab.RemoveNamespace(t.Context(), name))
	t.Cleanup(func() {
		if err := lab.RemoveNamespace(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	must(t, lab.Namespace(t.Context(), name))
}

// theNode is the name of the cluster's only node.
func theNode(t testing.TB) *corev1.Node {
	t.Helper()
	nodes, err := lab.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	return &nodes.Items[0]
}

// state is what a person would look at after a failure.
func (f fleet) state(ctx context.Context) string {
	var s strings.Builder
	s.WriteString(lab.State(ctx, f.Namespace))
	s.WriteString("--- what Prometheus knows\n")
	for _, expr := range []string{
		"supersonic:in_flight_requests", "supersonic:serving_requests", "supersonic:healthy_replicas",
		"supersonic:needed_replicas", "supersonic:occupancy_ratio", "supersonic:calls_without_replica:rate",
		`sum(envoy_cluster_upstream_rq_active{envoy_cluster_name="triton_grpc_service"})`,
		"max(envoy_http_lua_gate_load_milli) / 1000", "time() - max(envoy_http_lua_gate_at_ms) / 1000",
		"count(up == 1)", "count(up == 0)",
	} {
		value, err := f.query(ctx, expr)
		if err != nil {
			fmt.Fprintln(&s, err)
			continue
		}
		fmt.Fprintf(&s, "%s: %.3f\n", expr, value)
	}
	return s.String()
}

// envoy is the address that clients call.
func (f fleet) envoy() string {
	f.t.Helper()
	address, err := f.Address(f.t.Context(), f.Name, "grpc")
	must(f.t, err)
	return address
}

// dial makes a client.
func (f fleet) dial() *load.Client {
	f.t.Helper()
	client, err := load.Dial(f.envoy(), f.token)
	must(f.t, err)
	return client
}

// clients starts synchronous clients.
func (f fleet) clients(number int, models ...string) *load.Run {
	f.t.Helper()
	run, err := load.Clients{Address: f.envoy(), Models: models, Number: number, Token: f.token}.Start()
	must(f.t, err)
	return run
}

// firstAnswer waits until a model answers through Envoy.
func (f fleet) firstAnswer(limit time.Duration) {
	f.t.Helper()
	client := f.dial()
	defer client.Close()
	f.await(limit, "first answered request", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return client.Infer(ctx, "fast")
	})
}

// await fails the test unless f returns nil within the limit.
func (f fleet) await(limit time.Duration, what string, check func(context.Context) error) {
	f.t.Helper()
	must(f.t, cluster.Await(f.t.Context(), limit, what, check))
}

// awaitSize waits until a fleet has a size and every replica is ready.
func (f fleet) awaitSize(sizes *cluster.Sizes, limit time.Duration, size int32) {
	f.t.Helper()
	f.await(limit, fmt.Sprintf("a fleet of %d", size), func(context.Context) error {
		if s := sizes.Last(); s.Wanted != size || s.Ready != size || s.Pods != size {
			return fmt.Errorf("%d wanted, %d ready of %d; %s", s.Wanted, s.Ready, s.Pods, cluster.Describe(sizes.Course()))
		}
		return nil
	})
}

// noneFailed reports every request that was not answered.
func noneFailed(t testing.TB, what string, r load.Result) {
	t.Helper()
	t.Logf("%s: %s", what, r)
	if n := len(r.Failed()); n > 0 {
		t.Errorf("%s: %d of %d requests failed", what, n, len(r.Calls))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
