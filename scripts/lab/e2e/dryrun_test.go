package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// place is the Kubernetes version and the APIs that a values file is meant for.
var place = regexp.MustCompile(`(?m)^# release: (\S+?)(?:, namespace: (\S+))?$`)

// The API server, with the CRDs of KEDA and of the Prometheus Operator, accepts the
// manifests of every values file in a dry run.
func TestDryRun(t *testing.T) {
	t.Parallel()
	must(t, lab.Pins.Install(t.Context(), "prometheus-operator"))
	_, err := lab.Kubectl(t.Context(), "", "apply", "--server-side", "--force-conflicts",
		"-f", lab.Pins.Path("prometheus-operator"))
	must(t, err)
	files, err := filepath.Glob(filepath.Join(lab.Pins.Repo, "values", "values-*.yaml"))
	must(t, err)
	own, err := filepath.Glob(filepath.Join(lab.Pins.Module, "values", "values-*.yaml"))
	must(t, err)
	if len(files) == 0 || len(own) == 0 {
		t.Fatalf("%d values files and %d of the lab, want some", len(files), len(own))
	}
	const namespace = "dry-run"
	must(t, lab.Namespace(t.Context(), namespace))
	t.Cleanup(func() { must(t, lab.RemoveNamespace(context.Background(), namespace)) })
	for _, file := range append(files, own...) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "values-"), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			must(t, err)
			release := "supersonic"
			if m := place.FindSubmatch(text); m != nil {
				release = string(m[1])
			}
			manifests, err := lab.Helm(t.Context(), "template", release, lab.Chart(), "--namespace", namespace,
				"-f", file, "--validate")
			must(t, err)
			out, err := lab.Kubectl(t.Context(), manifests, "--namespace", namespace,
				"apply", "--dry-run=server", "-f", "-", "--warnings-as-errors")
			must(t, err)
			if n := strings.Count(out, "(server dry run)"); n < 3 {
				t.Errorf("the server saw %d objects, want at least 3:\n%s", n, out)
			}
		})
	}
}
