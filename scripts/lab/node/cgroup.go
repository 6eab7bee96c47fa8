package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupName is the prefix of the node's groups.
const cgroupName = "supersonic-lab"

// A hierarchy is one mounted tree of control groups.
type hierarchy struct {
	mount   string // where it is mounted
	options string // of that mount, "memory" or "none,name=systemd"; empty for version 2
	own     string // the group that this process is in
}

// hierarchies lists the control group trees of this process.
func hierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for line := range strings.Lines(string(data)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, own, _ := strings.Cut(rest, ":")
		h := hierarchy{own: own, options: controllers}
		switch name, named := strings.CutPrefix(controllers, "name="); {
		case controllers == "":
			h.mount = "/sys/fs/cgroup"
			if unified := h.mount + "/unified"; isDir(unified) {
				h.mount = unified
			}
		case named:
			h.mount, h.options = "/sys/fs/cgroup/"+name, "none,"+controllers
		default:
			h.mount = "/sys/fs/cgroup/" + controllers
		}
		if isDir(filepath.Join(h.mount, own)) {
			found = append(found, h)
		}
	}
	return found, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// joinCgroup creates a group for the node below this process' group in every tree,
// moves this process there, and returns the groups.
func joinCgroup() ([]string, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var made []string
	for _, h := range all {
		parent := filepath.Join(h.mount, h.own)
		dir := filepath.Join(parent, fmt.Sprintf("%s-%d", cgroupName, os.Getpid()))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return made, err
		}
		made = append(made, dir)
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if v, err := os.ReadFile(filepath.Join(parent, name)); err == nil && len(v) > 1 {
				if err := os.WriteFile(filepath.Join(dir, name), v, 0o644); err != nil {
					return made, err
				}
			}
		}
		pid := fmt.Appendf(nil, "%d", os.Getpid())
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), pid, 0o644); err != nil {
			return made, err
		}
	}
	return made, nil
}

// mountCgroups shows, in a new control group namespace, only what is below it.
func mountCgroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	if len(all) == 1 && all[0].options == "" {
		return mountUnified()
	}
	if err := unix.Mount("lab", "/sys/fs/cgroup", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /sys/fs/cgroup: %w", err)
	}
	for _, h := range all {
		kind := "cgroup"
		if h.options == "" {
			kind = "cgroup2"
		}
		if err := os.MkdirAll(h.mount, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("lab", h.mount, kind, 0, h.options); err != nil {
			return fmt.Errorf("mount %s: %w", h.mount, err)
		}
	}
	return nil
}

// mountUnified mounts version 2 and delegates its controllers, for which the group
// itself must have no process.
func mountUnified() error {
	const root = "/sys/fs/cgroup"
	if err := unix.Mount("lab", root, "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", root, err)
	}
	if err := os.MkdirAll(root+"/init", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(root+"/init/cgroup.procs", []byte("1"), 0o644); err != nil {
		return err
	}
	data, err := os.ReadFile(root + "/cgroup.controllers")
	if err != nil {
		return err
	}
	for c := range strings.FieldsSeq(string(data)) {
		if err := os.WriteFile(root+"/cgroup.subtree_control", []byte("+"+c), 0o644); err != nil {
			return fmt.Errorf("cgroup controller %s: %w", c, err)
		}
	}
	return nil
}

// removeCgroup removes a group and those below it, once their last process is gone.
func removeCgroup(dir string) error {
	var err error
	for range 100 {
		if err = removeTree(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(50 * time.Millisecond) // The kernel does not notify when a group is free.
	}
	return err
}

func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return unix.Rmdir(dir)
}
