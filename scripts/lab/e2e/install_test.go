package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A release answers soon after its installation, every part is healthy, helm test
// passes, and nothing is left after its removal.
func TestInstall(t *testing.T) {
	t.Parallel()
	before := objects(t, "install")
	begin := time.Now()
	f := install(t, "install")
	f.firstAnswer(time.Minute)
	t.Logf("from install to the first answer: %s", time.Since(begin).Round(time.Second))

	f.healthy(time.Minute)
	if _, err := lab.Kubectl(t.Context(), "", "--namespace", f.Namespace, "run", "root", "--image=root", "--privileged",
		"--dry-run=server"); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("a privileged pod in the namespace: %v, want a refusal by Pod Security", err)
	}
	if out, err := lab.Helm(t.Context(), "test", f.Name, "--namespace", f.Namespace, "--timeout", "2m"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}

	must(t, f.Uninstall(t.Context()))
	f.await(time.Minute, "an empty namespace", func(context.Context) error {
		for name := range objects(t, "install") {
			if !before[name] {
				return fmt.Errorf("%s is left", name)
			}
		}
		return nil
	})
}

// healthy awaits that every pod is ready, KEDA reads the metric, and Prometheus
// scrapes every target. No container may have restarted.
func (f fleet) healthy(limit time.Duration) {
	f.t.Helper()
	f.await(limit, "healthy objects", func(ctx context.Context) error {
		checks := map[string]string{
			"jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}":         "scaledobjects.keda.sh",
			"jsonpath={.items[*].status.conditions[?(@.type==\"ScalingActive\")].status}": "hpa",
			"jsonpath={.items[*].status.conditions[?(@.type==\"Available\")].status}":     "deployments",
			"jsonpath={.items[*].status.containerStatuses[*].ready}":                      "pods",
		}
		for path, kind := range checks {
			out, err := lab.Kubectl(ctx, "", "--namespace", f.Namespace, "get", kind, "-o", path)
			if err != nil {
				return err
			}
			if out == "" || strings.Contains(strings.ToLower(out), "false") || strings.Contains(out, "Unknown") {
				return fmt.Errorf("%s: %q of %s", kind, out, path)
			}
		}
		down, err := f.query(ctx, `count(up == 0) or vector(0)`)
		if err != nil {
			return err
		}
		up, err := f.query(ctx, `count(up == 1) or vector(0)`)
		if err != nil {
			return err
		}
		if down > 0 || up < 2 {
			return fmt.Errorf("Prometheus scrapes %v targets and fails at %v", up, down)
		}
		return nil
	})
	f.noRestarts()
}

func (f fleet) noRestarts() {
	f.t.Helper()
	out, err := lab.Kubectl(f.t.Context(), "", "--namespace", f.Namespace, "get", "pods", "-o",
		`jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[*].restartCount}{"\n"}{end}`)
	must(f.t, err)
	for line := range strings.FieldsSeq(out) {
		if !strings.HasSuffix(line, "=0") {
			f.t.Errorf("restarts of a pod: %s", line)
		}
	}
}

// objects are all objects of a namespace except those that Kubernetes itself creates.
func objects(t testing.TB, namespace string) map[string]bool {
	t.Helper()
	kinds, err := lab.Kubectl(t.Context(), "", "api-resources", "--verbs=list", "--namespaced", "-o", "name")
	must(t, err)
	var list []string
	for kind := range strings.FieldsSeq(kinds) {
		if !strings.HasPrefix(kind, "events") && !strings.HasSuffix(kind, ".metrics.k8s.io") {
			list = append(list, kind)
		}
	}
	out, err := lab.Kubectl(t.Context(), "", "--namespace", namespace, "get", strings.Join(list, ","),
		"-o", "name", "--ignore-not-found")
	must(t, err)
	found := map[string]bool{}
	for name := range strings.FieldsSeq(out) {
		if name != "configmap/kube-root-ca.crt" && name != "serviceaccount/default" {
			found[name] = true
		}
	}
	return found
}
