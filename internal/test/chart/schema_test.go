package chart_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

const chartDir = "../../../chart"

// identity is what tells an object from all others in a cluster.
func identity(t testing.TB, text string) string {
	t.Helper()
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatal(err)
	}
	return head.Kind + " " + head.Metadata.Namespace + "/" + head.Metadata.Name
}

func run(t testing.TB, program string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	// Helm reads no settings of whoever runs the test.
	cmd.Env = append(os.Environ(), "HELM_NAMESPACE=", "KUBECONFIG=/dev/null")
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestManifestsAreValidForKubernetesAndKEDA(t *testing.T) {
	for _, version := range []string{"1.30", "1.34"} {
		validator := manifest.For(t, version)
		t.Run(version, func(t *testing.T) {
			forEachValuesFile(t, func(t *testing.T, c valuesCase) {
				o := c.options()
				o.KubeVersion = version
				m, err := render.Chart(manifest.Chart(t), c.vals, o)
				if err != nil {
					t.Fatal(err)
				}
				delete(m, "NOTES.txt")
				for _, err := range validator.Check(m) {
					t.Error(err)
				}
			})
		})
	}
}

// Helm can't be told a chart's version, so both render it as it is.
func TestHelmRendersTheSameBytes(t *testing.T) {
	helm := tools.Path(t, "helm")
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	forEachValuesFile(t, func(t *testing.T, vc valuesCase) {
		want, errs, err := run(t, helm, "template", vc.release, chartDir, "-n", vc.namespace, "-f", vc.file, "--kube-version", "1.34")
		if err != nil {
			t.Fatal(errs)
		}
		docs, err := render.Documents(c, vc.vals, vc.options())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, d := range docs {
			got.WriteString(d.String())
		}
		if diff := cmp.Diff(want, strings.TrimSpace(got.String())+"\n"); diff != "" {
			t.Errorf("not what helm template prints (-helm +ours):\n%s", diff)
		}
	})
}

func TestHelmLintFindsNothing(t *testing.T) {
	helm := tools.Path(t, "helm")
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		out, errs, err := run(t, helm, "lint", chartDir, "-n", c.namespace, "-f", c.file, "--strict")
		if err != nil {
			t.Errorf("helm lint: %s%s", out, errs)
		}
		for _, m := range helmlint.All(chartDir, c.vals, c.namespace, true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("lint: %s: %v", m.Path, m.Err)
			}
		}
	})
}

func TestPromtoolAcceptsThePrometheusConfiguration(t *testing.T) {
	promtool := tools.Path(t, "promtool")
	tried := 0
	for _, c := range cases(t) {
		if !c.on(t, "prometheus", "enabled") || c.on(t, "prometheus", "external", "enabled") {
			continue
		}
		tried++
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := manifest.Data(t, c.manifests(t), "prometheus/configmap.yaml")
			for name, text := range files {
				// Files that the kubelet mounts; promtool looks for them.
				text = strings.ReplaceAll(text, "/etc/prometheus/", dir+"/")
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, errs, err := run(t, promtool, "check", "config", "--lint=all", "--lint-fatal", filepath.Join(dir, "prometheus.yml"))
			if err != nil {
				t.Errorf("promtool: %s%s", out, errs)
			}
		})
	}
	if tried == 0 {
		t.Error("no values file runs a Prometheus")
	}
}
