package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fastmachinelearning/supersonic/scripts/lab/ab"
	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/node"
	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// times that each arm runs under each load.
const times = 2

// compare runs the missing part of a comparison inside the lab, and writes the page.
func compare(ctx context.Context, d node.Dir) error {
	pins, err := tools.Find()
	if err != nil {
		return err
	}
	// The previous metric comes from the library too, in the namespace of the runs.
	query := exec.CommandContext(ctx, "go", "run", "./cmd/supersonic", "query", "queue-latency",
		"--release", "sonic", "--namespace", "ab", "--rate-interval", "30s")
	query.Dir, query.Stderr = pins.Repo, os.Stderr
	text, err := query.Output()
	if err != nil {
		return fmt.Errorf("supersonic query queue-latency: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := d.Command(ctx, self, "-dir", string(d), "ab-inside")
	cmd.Dir = pins.Module
	cmd.Env = append(cmd.Env, "LAB_QUEUE_LATENCY="+strings.TrimSpace(string(text)))
	if err := interactive(cmd); err != nil {
		return err
	}
	return report(pins)
}

// inside runs everything that has no outcome yet.
func inside(ctx context.Context) error {
	c, err := cluster.Open()
	if err != nil {
		return err
	}
	return ab.All(ctx, c, outcomes(c.Pins), times, os.Getenv("LAB_QUEUE_LATENCY"), sayer())
}

// outcomes is the folder of the runs' summaries.
func outcomes(pins tools.Set) string { return filepath.Join(pins.Repo, "docs", "comparison") }

// report writes docs/comparison.html.
func report(pins tools.Set) error {
	all, err := ab.Read(outcomes(pins))
	if err != nil {
		return err
	}
	r, err := ab.NewReport(all, fmt.Sprintf("Kubernetes %s, KEDA %s, Prometheus %s, Envoy %s, Triton %s",
		pins.Version("kubernetes-1.34"), pins.Version("keda"), pins.Version("prometheus"),
		pins.Version("envoy"), pins.Version("triton")))
	if err != nil {
		return err
	}
	path := filepath.Join(pins.Repo, "docs", "comparison.html")
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := r.Write(file); err != nil {
		return err
	}
	fmt.Println("wrote", path)
	return file.Close()
}
