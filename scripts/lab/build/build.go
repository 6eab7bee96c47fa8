package build

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	for _, s := range sources(b.Pins) {
		for _, p := range s.programs {
			if p.name == name {
				return b.file(p), p.version
			}
		}
	}
	return filepath.Join(b.Dir, "bin", name), ""
}

func (b Builder) file(p program) string { return filepath.Join(b.Dir, "bin", p.name+"-"+p.version) }

// All builds missing programs, and links each under the names that it is started by.
func (b Builder) All(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(b.Dir, "bin"), 0o755); err != nil {
		return err
	}
	for _, s := range sources(b.Pins) {
		missing := slices.DeleteFunc(slices.Clone(s.programs), func(p program) bool {
			_, err := os.Stat(b.file(p))
			return err == nil
		})
		if err := b.build(ctx, s, missing); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for _, p := range s.programs {
			for _, name := range p.links {
				link := filepath.Join(b.Dir, "bin", name)
				_ = os.Remove(link) // It may link to an earlier version.
				if err := os.Symlink(filepath.Base(b.file(p)), link); err != nil {
					return err
				}
			}
		}
	}
	// The lab's own program is part of its module.
	_, err := goTool(ctx, b.Pins.Module, "build", "-o", filepath.Join(b.Dir, "bin", "pause"), "./pause")
	return err
}

// build makes the module of a source and builds programs in it.
func (b Builder) build(ctx context.Context, s source, programs []program) error {
	if len(programs) == 0 {
		return nil
	}
	src := filepath.Join(b.Dir, "src", s.name+"-"+s.version)
	if err := b.module(ctx, s, src); err != nil {
		return err
	}
	out, err := os.MkdirTemp(b.Dir, "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	args := []string{"build", "-mod=mod", "-ldflags", "-s -w" + versionFlags(s), "-o", out + "/"}
	for _, p := range programs {
		b.Say("build " + p.name + " " + p.version)
		args = append(args, p.pkg)
	}
	if _, err := goTool(ctx, src, args...); err != nil {
		return err
	}
	for _, p := range programs {
		if err := os.Rename(filepath.Join(out, filepath.Base(p.pkg)), b.file(p)); err != nil {
			return err
		}
	}
	return nil
}

// versionFlags set a program's version, which helm reads from the API server.
func versionFlags(s source) string {
	if s.module == kedaModule {
		return " -X " + kedaModule + "/version.Version=" + s.version
	}
	parts := strings.Split(s.version, ".")
	flags := ""
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=v%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
			pkg, s.version, parts[0], parts[1])
	}
	return flags
}

// module writes the main module of a source. It also requires the lab's module, so that shared dependencies have one
// version and are compiled once.
func (b Builder) module(ctx context.Context, s source, src string) error {
	upstream, err := fetch(ctx, s.module, s.version)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(src); err != nil {
		return err
	}
	if s.module == kedaModule {
		err = copyKEDA(upstream.Dir, src)
	} else {
		err = around(upstream, s, src)
	}
	if err != nil {
		return err
	}
	edit := []string{"mod", "edit", "-require=" + labModule + "@v0.0.0", "-replace=" + labModule + "=" + b.Pins.Module}
	for _, m := range s.requires {
		edit = append(edit, "-require="+m)
	}
	_, err = goTool(ctx, src, edit...)
	return err
}

// around writes a module that requires upstream's, and holds the main packages.
func around(u upstream, s source, src string) error {
	text, err := os.ReadFile(u.GoMod)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(u.Dir, "go.sum"))
	if err != nil {
		return err
	}
	packages, err := fs.Sub(mains, "_mains")
	if err != nil {
		return err
	}
	if err := os.CopyFS(src, packages); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(src, "go.mod"), own(s, text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(src, "go.sum"), sums, 0o644)
}

// An upstream is where the module cache holds a module.
type upstream struct{ Dir, GoMod string }

func fetch(ctx context.Context, module, version string) (upstream, error) {
	var u upstream
	out, err := goTool(ctx, "", "mod", "download", "-json", module+"@v"+version)
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(out, &u)
}

// KEDAConfig is the folder of manifests in KEDA's module.
func (b Builder) KEDAConfig(ctx context.Context) (string, error) {
	u, err := fetch(ctx, kedaModule, b.Pins.Version("keda"))
	return filepath.Join(u.Dir, "config"), err
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module .*$`)
	local      = regexp.MustCompile(`(?m)^(\s*(?:replace )?)(\S+)( v\S+)? => (\./|\.\./)\S+$`)
	required   = regexp.MustCompile(`(?m)^(\s*(?:require )?k8s\.io/\S+) v0\.0\.0( |$)`)
)

// own turns Kubernetes' go.mod into the lab's: with another name, and published modules in place of local folders.
func own(s source, text []byte) []byte {
	_, minor, _ := strings.Cut(s.version, ".") // the modules of 1.34.2 are v0.34.2
	out := moduleLine.ReplaceAllString(string(text), "module lab/"+s.name+"\n\nrequire "+s.module+" v"+s.version)
	out = local.ReplaceAllString(out, "${1}${2} => ${2} v0."+minor)
	return []byte(required.ReplaceAllString(out, "${1} v0."+minor+"${2}"))
}

// goTool runs the go command at low priority, and returns what it prints.
func goTool(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "10", "go"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOGC=400") // for the compiler, which is faster with more memory
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
