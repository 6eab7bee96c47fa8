// Package cluster installs releases of the chart in the lab's cluster and watches
// them.
package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fastmachinelearning/supersonic/scripts/lab/node"
	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// A Cluster is the lab's, for a process inside its network.
type Cluster struct {
	Dir  node.Dir
	Pins tools.Set
	Kube kubernetes.Interface
}

// Open connects to the cluster of the lab that LAB names.
func Open() (*Cluster, error) {
	d := node.Dir(os.Getenv("LAB"))
	config, err := clientcmd.BuildConfigFromFlags("", d.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pins, err := tools.Find()
	return &Cluster{Dir: d, Pins: pins, Kube: kube}, err
}

// Chart is the folder of the chart.
func (c *Cluster) Chart() string { return filepath.Join(c.Pins.Repo, "chart") }

// Values is a values file of the lab.
func (c *Cluster) Values(name string) string {
	return filepath.Join(c.Pins.Module, "values", "values-"+name+".yaml")
}

// Kubectl runs kubectl with a text on its standard input and returns what it prints.
func (c *Cluster) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	return c.run(ctx, input, c.Dir.Bin("kubectl"), args...)
}

// Helm runs helm and returns what it prints.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, "", c.Pins.Path("helm", "bin", "helm"), args...)
}

// Promtool runs promtool and returns what it prints.
func (c *Cluster) Promtool(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, "", c.Pins.Path("promtool", "bin", "promtool"), args...)
}

func (c *Cluster) run(ctx context.Context, input, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Dir.Kubeconfig())
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s",
			filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Await calls f once a second until it returns nil. After the limit it returns the
// last error.
func Await(ctx context.Context, limit time.Duration, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var err error
	for {
		last := f(ctx)
		if last == nil {
			return nil
		}
		if err == nil || ctx.Err() == nil { // A timeout says less than the last error.
			err = last
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", what, limit, err)
		case <-tick.C:
		}
	}
}

// Kill kills the first process of a container.
func (c *Cluster) Kill(ctx context.Context, container string) error {
	_, err := c.run(ctx, "", filepath.Join(c.Dir.Host(), "usr", "bin", "ctr"), "-a", c.Dir.Containerd(),
		"-n", "k8s.io", "tasks", "kill", "-s", "SIGKILL", container)
	return err
}
