package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// plugin is plugin.yaml for Helm 3 and Helm 4. It makes the unpacked archive a plugin: helm supersonic query …
const plugin = `name: %[1]s
version: %[2]s
usage: print the queries of the chart %[1]s, render it, and check and migrate its values
description: Scales and protects NVIDIA Triton behind Envoy by the requests in flight.
command: $HELM_PLUGIN_DIR/%[1]s
`

// command writes the archive for a platform, and the list of the modules in it.
func (r *release) command(target string) error {
	goos, goarch, ok := strings.Cut(target, "/")
	if !ok {
		return fmt.Errorf("must be a system and an architecture, such as linux/amd64")
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, r.name)
	if err := build(program, goos, goarch); err != nil {
		return err
	}
	metadata := fmt.Appendf(nil, plugin, r.name, r.version)
	files, err := r.contents(program, metadata)
	if err != nil {
		return err
	}
	data, err := r.archive(files)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s-%s-%s", r.name, r.version, goos, goarch)
	if err := r.putSigned(name+".tar.gz", data, metadata); err != nil {
		return err
	}
	modules, err := r.modules(program)
	if err != nil {
		return err
	}
	return r.put(name+".cdx.json", modules)
}

// contents returns the files of an archive: the command, plugin.yaml, and everything that the README's commands and links
// refer to.
func (r *release) contents(program string, metadata []byte) ([]file, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	files := []file{{name: r.name, mode: 0o755, data: binary}, {name: "plugin.yaml", mode: 0o644, data: metadata}}
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md", "chart", "docs", "values"} {
		more, err := tree(name, name, nil)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// build compiles the command. The result does not depend on the folder.
func build(program, goos, goarch string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", program,
		"./cmd/supersonic")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
