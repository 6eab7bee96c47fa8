package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// TestMain replaces the command, which the node starts again as process 1.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "-dir" {
		run := map[string]func(Dir) error{"spawn": Spawn, "init": Init}[os.Args[3]]
		if err := run(Dir(os.Args[2])); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// machine is the state of the machine that a node could change.
func machine(t *testing.T) map[string]string {
	t.Helper()
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	trees, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, h := range trees {
		found, err := filepath.Glob(filepath.Join(h.mount, h.own, cgroupName+"*"))
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, found...)
	}
	kernel := ""
	for _, name := range kernelSettings {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			t.Fatal(err)
		}
		kernel += name + "=" + string(value)
	}
	return map[string]string{
		"kernel": kernel,
		"links":  strings.Join(names, " "), "mounts": string(mounts), "groups": strings.Join(groups, " "),
	}
}

func TestNodeLeavesNothing(t *testing.T) {
	if lacks := Lacks(Dir(t.TempDir())); len(lacks) > 0 {
		t.Skipf("this machine lacks %s", strings.Join(lacks, ", "))
	}
	before := machine(t)
	d := Dir(t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	t.Cleanup(func() { _ = Down(context.Background(), d) })
	if err := first(ctx, d); err != nil {
		t.Fatal(err)
	}
	if err := d.start(ctx, "sleeper", "/bin/sh", "-c", "echo 77 > /proc/sys/kernel/panic && exec sleep 1000"); err != nil {
		t.Fatal(err)
	}
	s, err := readState(d)
	if err != nil || !d.Running() {
		t.Fatalf("the node does not run: %v", err)
	}
	own, _ := os.Readlink("/proc/self/ns/net")
	if inside, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", s.Pid)); err != nil || inside == own {
		t.Errorf("network namespace of the node is %q, ours is %q: %v", inside, own, err)
	}
	out, err := d.Command(ctx, "cat", "/proc/net/dev").Output()
	if err != nil || !strings.Contains(string(out), "cni0") || strings.Contains(string(out), "eth0") {
		t.Errorf("interfaces of the node: %s: %v", out, err)
	}

	if err := Down(ctx, d); err != nil {
		t.Fatal(err)
	}
	if d.Running() || startTime(s.Pid) == s.Started {
		t.Error("process 1 of the node still runs")
	}
	if _, err := os.Stat(d.Run()); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", d.Run(), err)
	}
	if diff := cmp.Diff(before, machine(t)); diff != "" {
		t.Errorf("the machine changed (-before +after):\n%s", diff)
	}
}

// Processes are stopped and started again.
func TestRestartProcesses(t *testing.T) {
	if lacks := Lacks(Dir(t.TempDir())); len(lacks) > 0 {
		t.Skipf("this machine lacks %s", strings.Join(lacks, ", "))
	}
	d := Dir(t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	t.Cleanup(func() { _ = Down(context.Background(), d) })
	if err := first(ctx, d); err != nil {
		t.Fatal(err)
	}
	status := func() (int, string) {
		all, err := d.Processes(ctx)
		if err != nil || all["sleeper"] == nil {
			t.Fatalf("processes %v: %v", all, err)
		}
		return all["sleeper"].Pid, all["sleeper"].Exit
	}
	if err := d.start(ctx, "sleeper", "/bin/sleep", "1000"); err != nil {
		t.Fatal(err)
	}
	firstPid, _ := status()
	if err := d.Stop(ctx, "sleeper"); err != nil {
		t.Fatal(err)
	}
	if pid, exit := status(); pid != 0 || exit != "signal: terminated" {
		t.Errorf("after its stop the process is %d, %q", pid, exit)
	}
	if err := d.Restart(ctx, "sleeper"); err != nil {
		t.Fatal(err)
	}
	if pid, _ := status(); pid == 0 || pid == firstPid {
		t.Errorf("started again, the process is %d, before %d", pid, firstPid)
	}
	if err := d.Restart(ctx, "no-such"); err == nil {
		t.Error("a process that never ran was started again")
	}
	if err := d.start(ctx, "broken", "/no/such/program"); err == nil {
		t.Error("a program that does not exist was started")
	}
}
