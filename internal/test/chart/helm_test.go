package chart_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	corev1 "k8s.io/api/core/v1"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

const chartDir = "../../../chart"

// helms are the supported versions of Helm.
var helms = []string{"helm", "helm4"}

// parent is a chart that has this one as a subchart.
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
		{
			name: "unknown-key", values: "supersonic: {enabled: true, triton: {replica: 3}}", wantErr: "additional properties 'replica' not allowed",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			write(t, dir, "values.yaml", tc.values)
			for _, helm := range helms {
				out, err := exec.Command(tools.Path(t, helm), "template", "outer", dir, "--kube-version", "1.34.0").CombinedOutput()
				if failed := err != nil; failed != (tc.wantErr != "") || !strings.Contains(string(out), tc.want+tc.wantErr) {
					t.Errorf("%s: %v: want %q in\n%s", helm, err, tc.want+tc.wantErr, out)
				}
			}
		})
	}
}

func run(t testing.TB, program string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	// The settings of the user who runs the test are not used.
	cmd.Env = append(os.Environ(), "HELM_NAMESPACE=", "KUBECONFIG=/dev/null")
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// Helm can't override a chart's version, so both render it as it is.
func TestHelmTemplate(t *testing.T) {
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	forEachValuesFile(t, func(t *testing.T, vc valuesCase) {
		docs, err := render.Documents(c, vc.vals, vc.options())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, d := range docs {
			got.WriteString(d.String())
		}
		for _, helm := range helms {
			want, errs, err := run(t, tools.Path(t, helm), "template", vc.release, chartDir,
				"-n", vc.namespace, "-f", vc.file, "--kube-version", "1.34")
			if err != nil {
				t.Fatal(errs)
			}
			if helm == "helm4" { // Helm 4 prints an empty line after each document.
				want = strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "\n\n---\n", "\n---\n")
			}
			if diff := cmp.Diff(want, strings.TrimSpace(got.String())+"\n"); diff != "" {
				t.Errorf("not what %s template prints (-helm +ours):\n%s", helm, diff)
			}
		}
	})
}

func TestHelmLint(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		for _, helm := range helms {
			out, errs, err := run(t, tools.Path(t, helm), "lint", chartDir, "-n", c.namespace, "-f", c.file, "--strict")
			if err != nil {
				t.Errorf("%s lint: %s%s", helm, out, errs)
			}
		}
		for _, m := range helmlint.All(chartDir, c.vals, c.namespace, true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("lint: %s: %v", m.Path, m.Err)
			}
		}
	})
}

// The pod of helm test calls the fleet through Envoy.
func TestHelmTest(t *testing.T) {
	m := manifest.Render(t, "")
	bootstrap := manifest.Object[corev1.ConfigMap](t, m, "envoy/configmap.yaml").Data["envoy.yaml"]
	triton := envoy.StartTriton(t)
	proxy := envoy.Start(t, envoy.Options{
		Bootstrap: bootstrap,
		Endpoints: map[string]string{"triton_grpc_service": triton.Addr, "triton_grpc_health": triton.Addr},
	})
	// Health methods have no health checks in their way; calls would find nobody.
	halfway := envoy.Start(t, envoy.Options{
		Bootstrap: bootstrap,
		Endpoints: map[string]string{"triton_grpc_service": "127.0.0.1:1", "triton_grpc_health": triton.Addr},
	})
	run := func(proxy *envoy.Envoy, more ...string) (string, error) {
		c := manifest.Object[corev1.Pod](t, m, "tests/fleet-ready.yaml").Spec.Containers[0]
		host, port, err := net.SplitHostPort(proxy.Addr(t, "listener_grpc"))
		if err != nil {
			t.Fatal(err)
		}
		command := append(append(c.Command, host, port, "2"), more...)
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		return string(out), err
	}
	if out, err := run(proxy); err != nil {
		t.Errorf("with a replica that is ready: %v\n%s", err, out)
	}
	if out, err := run(halfway); err == nil {
		t.Errorf("with a replica that calls do not reach: must fail, got %s", out)
	}
	if out, err := run(halfway, "tokens"); err != nil {
		t.Errorf("where calls need a token: %v\n%s", err, out)
	}
	triton.SetServing(false)
	if out, err := run(halfway, "tokens"); err == nil {
		t.Errorf("with a replica that is not ready: must fail, got %s", out)
	}
	triton.Down()
	const cluster, service = "envoy_cluster_name", "triton_grpc_service"
	envoy.Await(t, 30*time.Second, "Envoy has no healthy replica", func() bool {
		return proxy.Value(t, "envoy_cluster_membership_healthy", cluster, service) == 0
	})
	if out, err := run(proxy); err == nil {
		t.Errorf("without a server: must fail, got %s", out)
	}
	if n := proxy.Value(t, "envoy_cluster_upstream_cx_none_healthy", cluster, service); n < 1 {
		t.Errorf("without a server: the call that wakes the fleet was not counted, got %g", n)
	}
}
