package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// A Builder makes the lab's programs in a folder, in the pinned versions.
type Builder struct {
	Dir  string
	Pins tools.Set
	Say  func(string)
}

// File is where the binary of a program is, and its version.
func (b Builder) File(name string) (file, version string) {
	file = filepath.Join(b.Dir, "bin", name)
	if _, all := programs(b.Pins); all[name].version != "" {
		version = all[name].version
		file += "-" + version
	}
	return file, version
}

// All builds the programs that are missing, and links each under its plain name.
func (b Builder) All(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(b.Dir, "bin"), 0o755); err != nil {
		return err
	}
	names, all := programs(b.Pins)
	for _, name := range names {
		file, version := b.File(name)
		if _, err := os.Stat(file); err != nil {
			b.Say("build " + name + " " + version)
			if err := b.build(ctx, name, all[name], file); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		link := filepath.Join(b.Dir, "bin", name)
		_ = os.Remove(link) // It may name an earlier version.
		if err := os.Symlink(filepath.Base(file), link); err != nil {
			return err
		}
	}
	// The lab's own needs no module.
	_, err := goTool(ctx, b.Pins.Module, "build", "-o", filepath.Join(b.Dir, "bin", "pause"), "./pause")
	return err
}

// build makes the module and builds the program in it.
func (b Builder) build(ctx context.Context, name string, p program, file string) error {
	src := filepath.Join(b.Dir, "src", p.source+"-"+p.version)
	if err := b.module(ctx, p, src); err != nil {
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
	flags := "-s -w" + versionFlags(p)
	_, err := goTool(ctx, src, "build", "-mod=mod", "-ldflags", flags, "-o", file, p.pkg)
	return err
}

// versionFlags tell a program its version: helm, for one, asks the API server.
func versionFlags(p program) string {
	switch p.source {
	case "kubernetes":
		parts := strings.Split(p.version, ".")
		flags := ""
		for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
			flags += fmt.Sprintf(" -X %[1]s.gitVersion=v%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
				pkg, p.version, parts[0], parts[1])
		}
		return flags
	case "keda":
		return " -X " + kedaModule + "/version.Version=" + p.version
	}
	return ""
}

// module makes a main module that requires the program's. Upstream's own
// go.mod, with what it replaces, is the start, since only a main module's
// replacements count.
func (b Builder) module(ctx context.Context, p program, src string) error {
	if _, err := os.Stat(filepath.Join(src, "complete")); err == nil {
		return nil
	}
	upstream, err := fetch(ctx, p)
	if err != nil {
		return err
	}
	if p.source == "keda" {
		if err := copyKEDA(upstream.Dir, src); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(src, "complete"), nil, 0o644)
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

// An upstream is where the module cache holds a module.
type upstream struct{ Dir, GoMod string }

func fetch(ctx context.Context, p program) (upstream, error) {
	var u upstream
	out, err := goTool(ctx, "", "mod", "download", "-json", p.module+"@v"+p.version)
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(out, &u)
}

// KEDAConfig is the folder of manifests in KEDA's module.
func (b Builder) KEDAConfig(ctx context.Context) (string, error) {
	u, err := fetch(ctx, program{module: kedaModule, version: b.Pins.Version("keda")})
	return filepath.Join(u.Dir, "config"), err
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
