// Package tools finds the repository's pinned parts (Envoy, Triton, Prometheus,
// Helm) and the versions of Kubernetes and KEDA that the lab builds.
package tools

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Set is the repository's pinned parts.
type Set struct {
	Module   string // folder of the lab's Go module
	Repo     string // folder of the repository
	dir      string // where they are installed
	versions map[string]string
}

// Find reads the pins. It has to run below the lab's module.
func Find() (Set, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return Set{}, fmt.Errorf("run it in scripts/lab: %w", err)
	}
	s := Set{Module: strings.TrimSpace(string(out)), versions: map[string]string{}}
	s.Repo = filepath.Join(s.Module, "..", "..")
	if s.dir = os.Getenv("SUPERSONIC_TOOLS"); s.dir == "" {
		s.dir = filepath.Join(s.Repo, ".tools")
	}
	pins, err := os.Open(filepath.Join(s.Repo, "scripts", "tools", "versions.txt"))
	if err != nil {
		return Set{}, err
	}
	defer pins.Close()
	for lines := bufio.NewScanner(pins); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) == 2 && f[0] != "#" {
			s.versions[f[0]] = f[1]
		}
	}
	return s, nil
}

// Version is the pinned version of a part.
func (s Set) Version(part string) string { return s.versions[part] }

// Path is a file of an installed part.
func (s Set) Path(part string, elem ...string) string {
	return filepath.Join(append([]string{s.dir, part, s.Version(part)}, elem...)...)
}

// Install installs parts that are missing.
func (s Set) Install(ctx context.Context, parts ...string) error {
	script := filepath.Join(s.Repo, "scripts", "tools", "install.sh")
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "10", script}, parts...)...)
	cmd.Env = append(os.Environ(), "SUPERSONIC_TOOLS="+s.dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	return nil
}
