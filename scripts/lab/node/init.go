package node

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// state is what Down needs to know, in run/state.json.
type state struct {
	Pid     int      // of the process that is process 1 inside
	Started string   // its start time in clock ticks, because pids are reused
	Cgroups []string // to be removed
}

// Spawn starts process 1 of the node: first this program again as "spawn",
// which joins the node's control groups, then from there as "init" in new
// namespaces.
func Spawn(d Dir) error {
	groups, err := joinCgroup()
	if err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	log, err := os.OpenFile(d.Run("log", "init.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "-dir", string(d), "init")
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, d.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("new namespaces: %w", err)
	}
	s := state{Pid: cmd.Process.Pid, Started: startTime(cmd.Process.Pid), Cgroups: groups}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(d.Run("state.json"), data, 0o644)
}

// startTime is field 22 of a process' stat file, or empty if it has ended.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

func readState(d Dir) (state, error) {
	var s state
	data, err := os.ReadFile(d.Run("state.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// alive reports whether process 1 of the node still runs.
func (s state) alive() bool {
	return s.Pid > 0 && s.Started != "" && startTime(s.Pid) == s.Started
}

// Init is process 1 of the node. It returns when it is stopped, or with an error.
func Init(d Dir) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("init: must be process 1 of a namespace, is %d", os.Getpid())
	}
	for _, step := range []func(Dir) error{mounts, network} {
		if err := step(d); err != nil {
			return err
		}
	}
	return supervise(d)
}

// mounts gives the node its own /proc, /run, control groups, and an overlay
// of /etc and /var, so that nothing it writes there reaches the machine.
func mounts(d Dir) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := shieldKernel(d); err != nil {
		return err
	}
	if err := mountCgroups(); err != nil {
		return err
	}
	if err := unix.Mount("lab", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	for _, dir := range []string{"/etc", "/var"} {
		upper, work := d.Run("overlay", dir), d.Run("overlay", dir+".work")
		for _, p := range []string{upper, work} {
			if err := os.MkdirAll(p, 0o755); err != nil {
				return err
			}
		}
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work)
		if err := unix.Mount("lab", dir, "overlay", 0, options); err != nil {
			return fmt.Errorf("overlay of %s: %w", dir, err)
		}
	}
	// Mounts of the kubelet have to reach the containers.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("shared mounts: %w", err)
	}
	return unix.Sethostname([]byte("lab"))
}

// kernelSettings are settings that the kubelet changes for the whole machine.
var kernelSettings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
}

// shieldKernel redirects the node's writes of these settings to its own files.
func shieldKernel(d Dir) error {
	if err := os.MkdirAll(d.Run("kernel"), 0o755); err != nil {
		return err
	}
	for _, name := range kernelSettings {
		setting, file := filepath.Join("/proc/sys", name), d.Run("kernel", filepath.Base(name))
		value, err := os.ReadFile(setting)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, value, 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, setting, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("shield of %s: %w", setting, err)
		}
	}
	return nil
}

// network brings the loopback up with the node's address, and forwards.
func network(Dir) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	addr, err := netlink.ParseAddr(hostRange)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(lo, addr); err != nil {
		return fmt.Errorf("address %s: %w", hostRange, err)
	}
	if err := bridge(); err != nil {
		return err
	}
	for _, key := range []string{"ipv4/ip_forward", "bridge/bridge-nf-call-iptables"} {
		path := filepath.Join("/proc/sys/net", key)
		if err := os.WriteFile(path, []byte("1"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bridge creates the pods' bridge before the first pod, because the route to the
// services goes through it. Without a route, a process of the node gets "network is
// unreachable" before a rule can rewrite the address.
func bridge() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "cni0"
	link := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("bridge cni0: %w", err)
	}
	gateway, err := netlink.ParseAddr(podGateway)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, gateway); err != nil {
		return fmt.Errorf("bridge cni0: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bridge cni0: %w", err)
	}
	services, err := netlink.ParseIPNet(serviceRange)
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: services})
}
