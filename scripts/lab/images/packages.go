package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nodePackages are the Debian packages whose programs the node itself runs.
// They are unpacked into the lab's folder, never installed on the machine.
var nodePackages = []string{
	"containerd", "runc", "containernetworking-plugins", "iptables", "ipset", "libseccomp2", "libip4tc2",
	"libip6tc2", "libipset13", "libmnl0", "libnetfilter-conntrack3", "libnfnetlink0", "libnftnl11", "libxtables12",
}

// aliases are the names that one multi-call binary of iptables answers to.
var aliases = []string{
	"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
}

// Host unpacks the node's own packages into a folder.
func Host(ctx context.Context, cache, dir string) error {
	mark, all := filepath.Join(dir, "complete"), strings.Join(nodePackages, "\n")
	if have, err := os.ReadFile(mark); err == nil && string(have) == all {
		return nil
	}
	files, err := download(ctx, filepath.Join(cache, "debs"), nodePackages...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := execute(ctx, "", "dpkg-deb", "-x", file, dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	for _, name := range aliases {
		link := filepath.Join(dir, "bin", name)
		_ = os.Remove(link) // It may be left from an earlier try.
		if err := os.Symlink(filepath.Join(dir, "usr/sbin/xtables-nft-multi"), link); err != nil {
			return err
		}
	}
	return os.WriteFile(mark, []byte(all), 0o644)
}

// closure lists a Debian package and its dependencies, as NAME=VERSION.
func closure(ctx context.Context, names ...string) ([]string, error) {
	args := append([]string{
		"-qq", "-o", "Dir::State::status=/dev/null", "--no-install-recommends",
		"--print-uris", "install",
	}, names...)
	out, err := exec.CommandContext(ctx, "apt-get", args...).Output()
	if err != nil { // The lists may be missing on a fresh machine.
		if err := execute(ctx, "", "apt-get", "update", "-qq"); err != nil {
			return nil, err
		}
		if out, err = exec.CommandContext(ctx, "apt-get", args...).Output(); err != nil {
			return nil, fmt.Errorf("apt-get: packages %s: %w", strings.Join(names, " "), err)
		}
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line) // 'URI' FILE SIZE CHECKSUM
		if len(fields) < 3 {
			continue
		}
		parts := strings.Split(fields[1], "_")
		if len(parts) == 3 {
			all = append(all, parts[0]+"="+strings.ReplaceAll(parts[1], "%3a", ":"))
		}
	}
	return all, nil
}

// download fetches Debian packages, NAME or NAME=VERSION, that the cache lacks,
// and returns their files.
func download(ctx context.Context, cache string, specs ...string) ([]string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	var lacking []string
	for _, spec := range specs {
		if have, err := cached(cache, spec); err != nil {
			return nil, err
		} else if have == "" {
			lacking = append(lacking, spec)
		}
	}
	if len(lacking) > 0 {
		args := append([]string{"-qq", "-o", "APT::Sandbox::User=root", "download"}, lacking...)
		if err := execute(ctx, cache, "apt-get", args...); err != nil {
			if err := execute(ctx, "", "apt-get", "update", "-qq"); err != nil {
				return nil, err
			}
			if err := execute(ctx, cache, "apt-get", args...); err != nil {
				return nil, err
			}
		}
	}
	files := make([]string, len(specs))
	for i, spec := range specs {
		var err error
		if files[i], err = cached(cache, spec); err != nil {
			return nil, err
		}
		if files[i] == "" {
			return nil, fmt.Errorf("apt-get download %s: no such file in %s", spec, cache)
		}
	}
	return files, nil
}

// cached is the file of a package in the cache, or empty.
func cached(cache, spec string) (string, error) {
	name, version, pinned := strings.Cut(spec, "=")
	pattern := name + "_*.deb"
	if pinned {
		pattern = name + "_" + strings.ReplaceAll(version, ":", "%3a") + "_*.deb"
	}
	have, err := filepath.Glob(filepath.Join(cache, pattern))
	return first(have), err
}

func first(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

// execute runs a command. Its error includes the output.
func execute(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
