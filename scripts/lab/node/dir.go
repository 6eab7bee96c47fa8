// Package node runs one Kubernetes node on this machine in its own Linux
// namespaces. Process 1 of the namespaces starts every other process. When it ends,
// the kernel removes all processes, mounts and interfaces of the node.
package node

import (
	"os"
	"path/filepath"
)

// Addresses inside the node's network namespace.
const (
	hostAddress  = "10.99.0.1" // of the node itself, on its loopback
	hostRange    = "10.99.0.1/16"
	podRange     = "10.88.0.0/16"
	podGateway   = "10.88.0.1/16"
	serviceRange = "10.96.0.0/16"
	apiService   = "10.96.0.1"
	// DNSAddress is the cluster's name server.
	DNSAddress = "10.96.0.10"
)

// Dir is the folder of everything that the lab makes: binaries and images, which
// are kept, and run, which is removed with the node.
type Dir string

// Bin is the path of a binary that the lab built.
func (d Dir) Bin(name string) string { return filepath.Join(string(d), "bin", name) }

// Host is the folder with the Debian packages that the node itself needs.
func (d Dir) Host() string { return filepath.Join(string(d), "host") }

// Run is a path under the folder of the running node.
func (d Dir) Run(elem ...string) string {
	return filepath.Join(append([]string{string(d), "run"}, elem...)...)
}

// Kubeconfig is the administrator's, for clients inside the node's network.
func (d Dir) Kubeconfig() string { return d.Run("admin.conf") }

// Containerd is the socket of the container runtime.
func (d Dir) Containerd() string { return d.Run("containerd.sock") }

// env is the environment of the node's own processes.
func (d Dir) env() []string {
	host := d.Host()
	return []string{
		"HOME=/root",
		"PATH=" + host + "/bin:" + host + "/usr/bin:" + host + "/usr/sbin:" + os.Getenv("PATH"),
		"LD_LIBRARY_PATH=" + host + "/usr/lib/x86_64-linux-gnu:" + host + "/lib/x86_64-linux-gnu",
		"XTABLES_LIBDIR=" + host + "/usr/lib/x86_64-linux-gnu/xtables",
	}
}
