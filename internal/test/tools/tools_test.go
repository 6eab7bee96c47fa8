package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestInstalledPrograms(t *testing.T) {
	for _, tc := range []struct {
		program string
		args    []string
	}{
		{"envoy", []string{"--version"}},
		{"promtool", []string{"--version"}},
		{"prometheus", []string{"--version"}},
		{"helm", []string{"version"}},
	} {
		t.Run(tc.program, func(t *testing.T) {
			t.Parallel()
			_, version, _ := locate(tc.program)
			said, err := exec.Command(Path(t, tc.program), tc.args...).CombinedOutput()
			if err != nil || !strings.Contains(string(said), version) {
				t.Errorf("%s says %q (%v), want version %s", tc.program, said, err, version)
			}
		})
	}
}

func TestInstalledSchemas(t *testing.T) {
	for part, file := range map[string]string{
		"kubernetes-1.30":     "apis__apps__v1_openapi.json",
		"kubernetes-1.34":     "apis__apps__v1_openapi.json",
		"keda":                "keda.sh_scaledobjects.yaml",
		"prometheus-operator": "monitoring.coreos.com_servicemonitors.yaml",
	} {
		if _, err := os.Stat(filepath.Join(Dir(t, part), file)); err != nil {
			t.Error(err)
		}
	}
}

// fakeProgram puts a program that prints a version first in PATH. No parts are installed.
func fakeProgram(t *testing.T, name, says string) (path string) {
	t.Helper()
	t.Setenv("SUPERSONIC_TOOLS", t.TempDir())
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\necho '%s'\n", says), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path))
	return path
}

func TestProgramInPath(t *testing.T) {
	_, version, _ := locate("envoy")
	t.Run("same-version", func(t *testing.T) {
		want := fakeProgram(t, "envoy", "envoy  version: 0/"+version+"/Clean")
		if got, err := find("envoy"); got != want || err != nil {
			t.Errorf("find(envoy) = %q, %v; want %q", got, err, want)
		}
	})
	t.Run("other-version", func(t *testing.T) {
		fakeProgram(t, "envoy", "envoy  version: 0/1.0.0/Clean")
		got, err := find("envoy")
		if err == nil || !strings.Contains(err.Error(), "envoy "+version) || !strings.Contains(err.Error(), "make tools") {
			t.Errorf("find(envoy) = %q, %v; want an error that names the version and says to run make tools", got, err)
		}
	})
}

// verdict records how a test would end.
type verdict struct {
	testing.TB
	said string
}

func (v *verdict) Skip(args ...any)  { v.said = "skipped: " + fmt.Sprint(args...) }
func (v *verdict) Fatal(args ...any) { v.said = "failed: " + fmt.Sprint(args...) }

// A missing part skips a test, and fails it if SUPERSONIC_TOOLS is set.
func TestMissingPart(t *testing.T) {
	_, version, _ := locate("keda")
	t.Chdir(t.TempDir())
	clone := fstest.MapFS{
		"go.mod":                     {Data: []byte("module a")},
		"scripts/tools/versions.txt": {Data: []byte("keda " + version)},
	}
	if err := os.CopyFS(".", clone); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": "skipped: keda ", t.TempDir(): "failed: keda "} {
		t.Setenv(folderVariable, dir)
		v := &verdict{TB: t}
		Dir(v, "keda")
		if !strings.HasPrefix(v.said, want) || !strings.HasSuffix(v.said, "run make tools") {
			t.Errorf("%s=%q: %s, want %s…: run make tools", folderVariable, dir, v.said, want)
		}
	}
}

func TestUnknownPart(t *testing.T) {
	if _, err := find("tool"); err == nil || !strings.Contains(err.Error(), "tool: no such part") {
		t.Errorf("find(tool): %v, want an error that names it", err)
	}
}

// The programs have the same versions as the libraries in go.mod.
func TestPinsAgreeWithGoMod(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, helm, _ := locate("helm")
	_, prometheus, _ := locate("prometheus")
	_, promtool, _ := locate("promtool")
	var major, minor, patch int
	if _, err := fmt.Sscanf(prometheus, "%d.%d.%d", &major, &minor, &patch); err != nil || promtool != prometheus {
		t.Errorf("prometheus %q and promtool %q: %v", prometheus, promtool, err)
	}
	for _, want := range []string{
		"helm.sh/helm/v3 v" + helm + "\n",
		fmt.Sprintf("github.com/prometheus/prometheus v0.%d.%d\n", major*100+minor, patch),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("go.mod does not require %s", strings.TrimSpace(want))
		}
	}
}
