package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
)

// sizeOf031 is to what its ScaledObject grows the fleet of 0.3.1.
const sizeOf031 = 4

// A release as chart 0.3.1 made it is upgraded in place, with the commands of docs/migrating.md: no request fails, the
// Service and its address stay, and the fleet that KEDA grew keeps its size.
func TestUpgradeFrom031(t *testing.T) {
	f := fleet{Release: cluster.Release{Cluster: lab, Name: "sonic", Namespace: "legacy"}, t: t}
	f.install031()
	before, draining := f.service(), f.commands("## An upgrade without a failed request")
	sizes := f.WatchSizes(t.Context())
	f.awaitSize(sizes, 4*time.Minute, sizeOf031)
	run := f.clients(16, "fast", "slow")
	grown, upgraded := len(sizes.Course()), time.Now().Truncate(time.Second)

	f.shell(draining[0])
	must(t, f.Apply(t.Context(), "-f", lab.Values("lab")))
	f.shell(draining[1])
	f.await(5*time.Minute, "the end of the old pods", func(ctx context.Context) error {
		pods, err := lab.Kube.CoreV1().Pods(f.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.CreationTimestamp.Time.Before(upgraded) {
				return fmt.Errorf("%s is there still", p.Name)
			}
		}
		return nil
	})
	noneFailed(t, "clients during the upgrade", run.Stop())
	for _, s := range sizes.Course()[grown:] {
		if s.Wanted < sizeOf031 {
			t.Errorf("the upgrade shrank the fleet: %s", cluster.Describe(sizes.Course()))
			break
		}
	}
	if after := f.service(); before.UID != after.UID || before.Spec.ClusterIP != after.Spec.ClusterIP {
		t.Errorf("the Service was replaced: %s at %s, before %s at %s",
			after.UID, after.Spec.ClusterIP, before.UID, before.Spec.ClusterIP)
	}
	f.healthy(time.Minute)
}

// install031 installs the objects of 0.3.1, and waits for an answer.
func (f fleet) install031() {
	f.t.Helper()
	f.cleanup()
	must(f.t, lab.Namespace(f.t.Context(), f.Namespace))
	_, err := lab.Kubectl(f.t.Context(), "", "label", "namespace", f.Namespace, "--overwrite",
		"pod-security.kubernetes.io/enforce=baseline")
	must(f.t, err)
	_, err = lab.Helm(f.t.Context(), "install", f.Name, "testdata/chart-0.3.1", "--namespace", f.Namespace,
		"--wait", "--timeout", "3m")
	must(f.t, err)
	f.firstAnswer(time.Minute)
}

func (f fleet) service() *corev1.Service {
	f.t.Helper()
	s, err := lab.Kube.CoreV1().Services(f.Namespace).Get(f.t.Context(), f.Name, metav1.GetOptions{})
	must(f.t, err)
	return s
}

// commands returns the blocks of code below a heading of docs/migrating.md, for the fleet's namespace.
func (f fleet) commands(heading string) []string {
	f.t.Helper()
	page, err := os.ReadFile(filepath.Join(lab.Pins.Repo, "docs", "migrating.md"))
	must(f.t, err)
	_, section, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		f.t.Fatalf("docs/migrating.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for i, part := range strings.Split(section, "\n```\n") {
		if i%2 == 1 {
			blocks = append(blocks, strings.ReplaceAll(part, "cms", f.Namespace))
		}
	}
	return blocks
}

// shell runs commands with the lab's kubectl.
func (f fleet) shell(script string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "bash", "-euxc", script)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+lab.Dir.Kubeconfig(), "PATH="+filepath.Dir(lab.Dir.Bin("kubectl"))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	f.t.Logf("%s", out)
	must(f.t, err)
}
