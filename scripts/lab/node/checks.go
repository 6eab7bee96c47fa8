package node

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// diskNeeded is for the binaries, the images, and Go's build cache.
const diskNeeded = 4 << 30 // bytes

// Lacks lists what this machine lacks to run a node in the folder.
func Lacks(d Dir) []string {
	var lacks []string
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return []string{"linux on amd64"}
	}
	if os.Geteuid() != 0 {
		return []string{"root (run it as root, or in a machine of your own)"}
	}
	for tool, from := range map[string]string{
		"nsenter": "util-linux", "apt-get": "Debian or Ubuntu", "dpkg-deb": "Debian or Ubuntu",
		"python3": "python3, with pip and venv",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			lacks = append(lacks, tool+" (from "+from+")")
		}
	}
	kinds, err := os.ReadFile("/proc/filesystems")
	if err != nil || !bytes.Contains(kinds, []byte("overlay")) {
		lacks = append(lacks, "overlayfs in the kernel")
	}
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		lacks = append(lacks, "iptables on bridges (modprobe br_netfilter)")
	}
	if trees, err := hierarchies(); err != nil || len(trees) == 0 {
		lacks = append(lacks, "control groups mounted below /sys/fs/cgroup")
	}
	if err := namespaces(); err != nil {
		lacks = append(lacks, "leave to make namespaces ("+err.Error()+")")
	}
	if _, err := os.Stat(d.Host()); err != nil { // nothing is built yet
		if free, err := freeDisk(string(d)); err != nil || free < diskNeeded {
			lacks = append(lacks, fmt.Sprintf("%d GiB of free disk at %s", diskNeeded>>30, d))
		}
	}
	return lacks
}

// freeDisk is the free space at a folder, or at the folder that it would be created in.
func freeDisk(dir string) (bytes uint64, err error) {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

// namespaces tries the ones that the node needs.
func namespaces() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
	}
	return cmd.Run()
}
