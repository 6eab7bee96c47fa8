package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Dir is the folder that binaries and their sources are made in.
type Dir string

// File is where the binary of a program is, and its version.
func (d Dir) File(name string) (file, version string) {
	if name == "pause" {
		return filepath.Join(string(d), "bin", "pause"), "lab"
	}
	p := programs[name]
	return filepath.Join(string(d), "bin", name+"-"+p.version), p.version
}

// All builds the programs that are missing, and links each under its plain name.
func (d Dir) All(ctx context.Context, say func(string)) error {
	if err := os.MkdirAll(filepath.Join(string(d), "bin"), 0o755); err != nil {
		return err
	}
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := d.one(ctx, name, say); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return d.pause(ctx)
}

func (d Dir) one(ctx context.Context, name string, say func(string)) error {
	p := programs[name]
	file, _ := d.File(name)
	if _, err := os.Stat(file); err != nil {
		say("build " + name + " " + p.version)
		if err := d.build(ctx, name, p, file); err != nil {
			return err
		}
	}
	link := filepath.Join(string(d), "bin", name)
	_ = os.Remove(link) // It may name an earlier version.
	return os.Symlink(filepath.Base(file), link)
}

// build makes the module and builds the program in it.
func (d Dir) build(ctx context.Context, name string, p program, file string) error {
	src := filepath.Join(string(d), "src", p.source+"-"+p.version)
	if err := d.module(ctx, p, src); err != nil {
		return err
	}
	if p.main != "" {
		if err := os.MkdirAll(filepath.Join(src, name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(src, name, "main.go"), []byte(p.main), 0o644); err != nil {
			return err
		}
	}
	// Not stripping the version: helm asks the API server for it.
	flags := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		if p.source == "kubernetes" {
			parts := strings.Split(p.version, ".")
			flags += fmt.Sprintf(" -X %[1]s.gitVersion=v%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
				pkg, p.version, parts[0], parts[1])
		}
	}
	_, err := goTool(ctx, src, "build", "-mod=mod", "-ldflags", flags, "-o", file, p.pkg)
	return err
}

// module makes a main module that requires the program's. Upstream's own
// go.mod, with what it replaces, is the start, since only a main module's
// replacements count.
func (d Dir) module(ctx context.Context, p program, src string) error {
	if _, err := os.Stat(filepath.Join(src, "complete")); err == nil {
		return nil
	}
	out, err := goTool(ctx, "", "mod", "download", "-json", p.module+"@v"+p.version)
	if err != nil {
		return err
	}
	var upstream struct{ Dir, GoMod string }
	if err := json.Unmarshal(out, &upstream); err != nil {
		return err
	}
	text, err := os.ReadFile(upstream.GoMod)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(upstream.Dir, "go.sum"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(src, "go.mod"), own(p, text), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(src, "go.sum"), sums, 0o644); err != nil {
		return err
	}
	if _, err := goTool(ctx, src, "mod", "edit", "-require="+p.module+"@v"+p.version); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(src, "complete"), nil, 0o644)
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module .*$`)
	local      = regexp.MustCompile(`(?m)^(\s*(?:replace )?)(\S+)( v\S+)? => (\./|\.\./)\S+$`)
	required   = regexp.MustCompile(`(?m)^(\s*(?:require )?k8s\.io/\S+) v0\.0\.0( |$)`)
)

// own turns upstream's go.mod into the lab's: another name, and published
// modules instead of folders beside it.
func own(p program, text []byte) []byte {
	out := moduleLine.ReplaceAllString(string(text), "module lab/"+p.source)
	if p.source == "kubernetes" {
		_, minor, _ := strings.Cut(p.version, ".") // 1.34.2 publishes its parts as v0.34.2
		out = local.ReplaceAllString(out, "${1}${2} => ${2} v0."+minor)
		return []byte(required.ReplaceAllString(out, "${1} v0."+minor+"${2}"))
	}
	return []byte(local.ReplaceAllString(out, ""))
}

// pause is the lab's own and needs no module.
func (d Dir) pause(ctx context.Context) error {
	file, _ := d.File("pause")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	here, err := Module()
	if err != nil {
		return err
	}
	_, err = goTool(ctx, here, "build", "-o", file, "./pause")
	return err
}

// Module is the folder of the lab's own Go module, from the working directory up.
func Module() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/fastmachinelearning/supersonic/scripts/lab").Output()
	if err != nil {
		return "", fmt.Errorf("run it in scripts/lab: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// goTool runs the go command out of the way of others, and returns what it prints.
func goTool(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "10", "go"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
