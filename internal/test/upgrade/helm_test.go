package upgrade_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/test/apiserver"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

const (
	chartDir     = "../../../chart"
	chartOf031   = "../../../scripts/lab/e2e/testdata/chart-0.3.1"
	withNewImage = withKEDA + "\ntriton: {image: example.org/triton:2}"
)

// A user runs either version of Helm on a cluster.
type user struct {
	*apiserver.Server
	t    *testing.T
	home string
}

func newUser(t *testing.T) user {
	t.Helper()
	return user{apiserver.Start(t), t, t.TempDir()}
}

// run runs Helm, and returns its output as an error if it fails.
func (u user) run(helm string, args ...string) error {
	cmd := exec.Command(tools.Path(u.t, helm), append(args, "--kubeconfig", u.Kubeconfig, "-n", namespace)...)
	cmd.Env = append(os.Environ(), "HELM_NAMESPACE=", "HELM_CONFIG_HOME="+u.home, "HELM_CACHE_HOME="+u.home, "HELM_DATA_HOME="+u.home)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", helm, args, err, said)
	}
	return nil
}

// must runs Helm with values for the release.
func (u user) must(helm, command, chart, values string, flags ...string) {
	u.t.Helper()
	file := filepath.Join(u.home, "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		u.t.Fatal(err)
	}
	if err := u.run(helm, append([]string{command, release, chart, "-f", file}, flags...)...); err != nil {
		u.t.Fatal(err)
	}
}

func (u user) wantSize(when string, want int32) {
	u.t.Helper()
	if got := *u.Deployment(namespace, release+"-triton").Spec.Replicas; got != want {
		u.t.Errorf("%s: %d replicas, want %d", when, got, want)
	}
}

// wantObjects checks that the objects in the namespace are exactly those that the values render.
func (u user) wantObjects(when, values string) {
	u.t.Helper()
	want := map[string]bool{}
	m := manifest.Render(u.t, values)
	for path := range m {
		if path == "NOTES.txt" || filepath.Dir(path) == "tests" {
			continue
		}
		for _, o := range manifest.Objects(u.t, m, path) {
			want[fmt.Sprintf("%v/%v", o["kind"], o["metadata"].(map[string]any)["name"])] = true
		}
	}
	got := u.Names(namespace)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		u.t.Errorf("%s: objects (-rendered +live)\n%s", when, diff)
	}
}

// helms holds the version of Helm that installs and the one that upgrades.
var helms = [][2]string{{"helm", "helm"}, {"helm", "helm4"}, {"helm4", "helm4"}}

// Both versions of Helm install and upgrade the chart, also when one continues after the other.
func TestHelm(t *testing.T) {
	for _, h := range helms {
		t.Run(h[0]+"-then-"+h[1], func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.must(h[0], "install", chartDir, withKEDA)
			u.wantObjects("installation", withKEDA)
			u.wantSize("installation", 1)
			u.Scale(namespace, release+"-triton", 5)
			u.must(h[1], "upgrade", chartDir, withNewImage)
			u.wantSize("upgrade", 5)
			if image := u.Deployment(namespace, release+"-triton").Spec.Template.Spec.Containers[0].Image; image != "example.org/triton:2" {
				t.Errorf("upgrade: the image is %s", image)
			}
			if err := u.run(h[1], "rollback", release, "1"); err != nil {
				t.Fatal(err)
			}
			u.wantSize("rollback", 5)
			u.wantObjects("rollback", withKEDA)
			if err := u.run(h[1], "uninstall", release); err != nil {
				t.Fatal(err)
			}
			if left := u.Names(namespace); len(left) > 0 {
				t.Errorf("uninstalled, and there is %v", left)
			}
		})
	}
}

// A fleet of 0.3.1 that KEDA grew keeps its size through the first upgrade and the next, with either Helm.
func TestHelmUpgrades031(t *testing.T) {
	for _, h := range helms {
		t.Run(h[0]+"-then-"+h[1], func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.must(h[0], "install", chartOf031, "")
			u.Scale(namespace, release+"-triton", 7)
			u.must(h[1], "upgrade", chartDir, withKEDA)
			u.wantObjects("first upgrade", withKEDA)
			u.wantSize("first upgrade", 7)
			u.Scale(namespace, release+"-triton", 9)
			u.must(h[1], "upgrade", chartDir, withNewImage)
			u.wantSize("second upgrade", 9)
		})
	}
}
