package node

import (
	"context"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// A probe is a kernel feature that the node needs, and a script that uses it.
type probe struct{ what, script string }

// probes of the features that Services and NetworkPolicies need.
var probes = []probe{
	{"iptables with NAT", "iptables -t nat -A POSTROUTING -j MASQUERADE"},
	{"iptables with connection tracking", "iptables -A FORWARD -m conntrack --ctstate RELATED -j ACCEPT"},
	{"iptables with comments", "iptables -A FORWARD -m comment --comment probe -j ACCEPT"},
	{"iptables with marks", "iptables -A FORWARD -m mark --mark 1 -j MARK --set-xmark 2"},
	{"iptables with statistic", "iptables -A FORWARD -m statistic --mode random --probability 0.5 -j ACCEPT"},
	{"IP sets", "ipset create probe hash:ip && iptables -A FORWARD -m set --match-set probe src -j ACCEPT"},
}

// LacksNetfilter lists the kernel features that the node's network lacks. It uses
// the node's own programs, and does not change the machine's network.
func LacksNetfilter(ctx context.Context, d Dir) []string { return lacking(ctx, d.env(), probes) }

// lacking are the probes that fail, each in its own network namespace.
func lacking(ctx context.Context, env []string, probes []probe) []string {
	var lacks []string
	for _, p := range probes {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", p.script)
		cmd.Env = env
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
		if err := cmd.Run(); err != nil {
			lacks = append(lacks, p.what)
		}
	}
	return lacks
}
