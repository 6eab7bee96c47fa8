// Package tools finds the real parts that tests run (Envoy, promtool, Helm, Triton, an OpenTelemetry collector, API schemas)
// in the versions of scripts/tools/versions.txt, and a browser, as `make tools` installs them.
//
// If a part is missing, a test is skipped with a message that says which command installs it. If SUPERSONIC_TOOLS is set,
// as make does, the test fails instead.
package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Path is the absolute path of a program: envoy, promtool, prometheus, otelcol, helm, helm4, mkdocs, versitygw or
// tritonserver. A program of the same version in PATH will do where the part is not installed.
func Path(t testing.TB, program string) string {
	t.Helper()
	path, err := find(program)
	need(t, err)
	return path
}

// Dir returns the absolute path of a part's folder, such as the OpenAPI documents in kubernetes-1.34.
func Dir(t testing.TB, part string) string {
	t.Helper()
	dir, _, err := locate(part)
	need(t, err)
	return dir
}

const folderVariable = "SUPERSONIC_TOOLS"

// errMissing means that a pinned part is not installed.
var errMissing = errors.New("run make tools")

// need skips or fails the test if a part was not found.
func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv(folderVariable) == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// Debian returns the absolute path of a program in the Debian package of the same name, in any version.
func Debian(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		need(t, fmt.Errorf("%s: not in PATH: %w", program, errMissing))
	}
	return path
}

func find(program string) (string, error) {
	part := program
	switch program {
	case "tritonserver":
		part = "triton"
	case "mkdocs":
		part = "mkdocs-material"
	}
	dir, version, err := locate(part)
	if err == nil {
		return filepath.Join(dir, "bin", program), nil
	}
	if path, ok := inPath(program, version); ok {
		return path, nil
	}
	return "", err
}

// locate returns the folder of a part and its pinned version, which is set even if the folder is missing.
func locate(part string) (dir, version string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", "", err
	}
	version, err = pinned(filepath.Join(root, "scripts", "tools", "versions.txt"), part)
	if err != nil {
		return "", "", err
	}
	installed := os.Getenv(folderVariable)
	if installed == "" {
		installed = filepath.Join(root, ".tools")
	}
	dir, err = filepath.Abs(filepath.Join(installed, part, version))
	if err != nil {
		return "", version, err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", version, fmt.Errorf("%s %s: not in %s: %w", part, version, installed, errMissing)
	}
	return dir, version, nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod here or above: %w", err)
		}
		dir = filepath.Dir(dir)
	}
}

func pinned(file, part string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == part {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("%s: no such part in %s", part, file)
}

func inPath(program, version string) (string, bool) {
	path, err := exec.LookPath(program)
	if err != nil || version == "" {
		return "", false
	}
	flag := "--version"
	if strings.HasPrefix(program, "helm") {
		flag = "version"
	}
	said, err := exec.Command(path, flag).CombinedOutput()
	if err != nil || !strings.Contains(string(said), version) {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}
