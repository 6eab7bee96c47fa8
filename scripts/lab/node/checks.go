package node

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lacks says what this machine would need to run the node; nothing when it can.
func Lacks() []string {
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
	if trees, err := hierarchies(); err != nil || len(trees) == 0 {
		lacks = append(lacks, "control groups mounted below /sys/fs/cgroup")
	}
	if err := namespaces(); err != nil {
		lacks = append(lacks, "leave to make namespaces ("+err.Error()+")")
	}
	return lacks
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
