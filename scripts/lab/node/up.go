package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Up starts the node and returns when it is Ready. In a node that is running, it
// only restarts components that have ended.
func Up(ctx context.Context, d Dir, archives []string, say func(string)) error {
	if !d.Running() {
		if err := Down(ctx, d); err != nil {
			return fmt.Errorf("remains of an earlier node: %w", err)
		}
		if err := first(ctx, d); err != nil {
			return err
		}
	}
	say("container runtime")
	if err := d.start(ctx, "containerd", containerd(d)...); err != nil {
		return err
	}
	if err := await(ctx, time.Minute, "containerd", func(ctx context.Context) error {
		return d.run(ctx, "ctr", "-a", d.Containerd(), "version")
	}); err != nil {
		return d.explain("containerd", err)
	}
	if err := d.importImages(ctx, archives, say); err != nil {
		return err
	}
	say("control plane")
	return controlPlane(ctx, d, say)
}

// first creates the run folder and process 1.
func first(ctx context.Context, d Dir) error {
	if err := os.MkdirAll(d.Run("log"), 0o755); err != nil {
		return err
	}
	if err := certificates(d); err != nil {
		return err
	}
	if err := configs(d); err != nil {
		return err
	}
	// A separate process joins the control groups, so that this one does not.
	out, err := exec.CommandContext(ctx, "/proc/self/exe", "-dir", string(d), "spawn").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	err = await(ctx, 20*time.Second, "process 1 of the node", func(ctx context.Context) error {
		if s, err := readState(d); err != nil || !s.alive() {
			return errors.New("has ended")
		}
		_, err := d.Processes(ctx)
		return err
	})
	return d.explain("init", err)
}

func controlPlane(ctx context.Context, d Dir, say func(string)) error {
	if err := d.start(ctx, "etcd", store(d)...); err != nil {
		return err
	}
	if err := d.start(ctx, "kube-apiserver", apiServer(d)...); err != nil {
		return err
	}
	if err := await(ctx, 2*time.Minute, "kube-apiserver", func(ctx context.Context) error {
		return d.run(ctx, "kubectl", "get", "--raw", "/readyz")
	}); err != nil {
		return d.explain("kube-apiserver", err)
	}
	for name, args := range map[string][]string{
		"kube-controller-manager": controllerManager(d),
		"kube-scheduler":          scheduler(d),
		"kubelet":                 kubelet(d),
		"kube-proxy":              proxy(d),
	} {
		if err := d.start(ctx, name, args...); err != nil {
			return err
		}
	}
	say("kubelet")
	err := await(ctx, 2*time.Minute, "node Ready", func(ctx context.Context) error {
		return d.run(ctx, "kubectl", "wait", "--for=condition=Ready", "node/lab", "--timeout=5s")
	})
	if err != nil {
		return d.explain("kubelet", err)
	}
	return enforce(ctx, d, say)
}

// enforce starts the firewall, which reads the node's address when it starts, and
// returns when its rules are in effect.
func enforce(ctx context.Context, d Dir, say func(string)) error {
	say("NetworkPolicies")
	if err := d.start(ctx, "kube-router", firewall(d)...); err != nil {
		return err
	}
	err := await(ctx, time.Minute, "kube-router", func(ctx context.Context) error {
		return d.run(ctx, "sh", "-c", "iptables --list-rules FORWARD | grep KUBE-ROUTER-FORWARD")
	})
	return d.explain("kube-router", err)
}

// run runs a command inside the node. Its error includes the output.
func (d Dir) run(ctx context.Context, name string, args ...string) error {
	out, err := d.Command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// explain adds the last lines of a component's log to an error.
func (d Dir) explain(name string, err error) error {
	if err == nil {
		return nil
	}
	path := d.Run("log", name+".log")
	data, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	tail := lines[max(0, len(lines)-15):]
	return fmt.Errorf("%w\nthe end of %s:\n%s", err, path, strings.Join(tail, "\n"))
}

// importImages imports new archives into the container runtime.
func (d Dir) importImages(ctx context.Context, archives []string, say func(string)) error {
	for _, archive := range archives {
		mark := d.Run(filepath.Base(archive) + ".imported")
		if _, err := os.Stat(mark); err == nil {
			continue
		}
		say("image " + strings.TrimSuffix(filepath.Base(archive), ".tar"))
		if err := d.run(ctx, "ctr", "-a", d.Containerd(), "-n", "k8s.io", "images", "import", archive); err != nil {
			return err
		}
		if err := os.WriteFile(mark, nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}
