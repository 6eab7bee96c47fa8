package images

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// recipe is part of every archive's name. Increase it when an image changes but no
// version does.
const recipe = "r5"

//go:embed model.py
var model string

// Models are those of the Triton image, with the seconds that each call takes.
var Models = map[string]string{"fast": "0.02", "slow": "0.2", "long": "10"}

const searchPath = "PATH=/opt/tritonserver/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const nobody = "65534:65534"

// A Builder writes the lab's images.
type Builder struct {
	Programs func(name string) (file, version string) // the lab's own binaries
	Pins     tools.Set
	Cache    string // folder of the packages
	Dir      string // folder of the archives
	Say      func(string)
}

// All writes the archives that are missing and returns all of them.
func (b Builder) All(ctx context.Context) ([]string, error) {
	var archives []string
	for name, image := range b.images(ctx) {
		file := filepath.Join(b.Dir, name+"-"+recipe+".tar")
		archives = append(archives, file)
		if _, err := os.Stat(file); err == nil {
			continue
		}
		b.Say("image " + name)
		if err := image.write(file); err != nil {
			return nil, err
		}
	}
	return archives, nil
}

// images by name and version. They have the names of the images that they replace,
// so that charts and manifests need no change.
func (b Builder) images(ctx context.Context) map[string]Image {
	envoy, triton, prometheus := b.Pins.Version("envoy"), b.Pins.Version("triton"), b.Pins.Version("prometheus")
	all := map[string]Image{
		"envoy-" + envoy: {
			Name:       "docker.io/envoyproxy/envoy:distroless-v" + envoy,
			Entrypoint: []string{"/usr/local/bin/envoy"},
			Env:        []string{searchPath},
			fill:       b.dynamic(ctx, "envoy", "/usr/local/bin/envoy"),
		},
		"prometheus-" + prometheus: {
			Name:       "docker.io/prom/prometheus:v" + prometheus,
			Entrypoint: []string{"/bin/prometheus"},
			Env:        []string{searchPath},
			User:       nobody,
			fill:       b.dynamic(ctx, "prometheus", "/bin/prometheus"),
		},
		"triton-" + triton: {
			Name:    "nvcr.io/nvidia/tritonserver:" + triton,
			Env:     []string{searchPath, "LD_LIBRARY_PATH=/usr/lib/triton"},
			Workdir: "/opt/tritonserver",
			fill:    func(l *layer) error { return b.triton(ctx, l) },
		},
		"pause": b.static("pause", "registry.k8s.io/pause:lab", "/pause", nobody),
	}
	for _, s := range [][4]string{
		{"coredns", "registry.k8s.io/coredns/coredns", "/coredns", ""},
		{"keda-operator", "ghcr.io/kedacore/keda", "/keda", nobody},
		{"keda-adapter", "ghcr.io/kedacore/keda-metrics-apiserver", "/keda-adapter", nobody},
	} {
		_, version := b.Programs(s[0])
		all[s[0]+"-"+version] = b.static(s[0], s[1]+":"+version, s[2], s[3])
	}
	return all
}

// static is an image of one statically linked program.
func (b Builder) static(program, name, target, user string) Image {
	return Image{
		Name: name, Entrypoint: []string{target}, Env: []string{searchPath}, User: user,
		fill: func(l *layer) error {
			if err := l.dir("tmp", 0o1777); err != nil {
				return err
			}
			file, _ := b.Programs(program)
			return l.binary(target, file)
		},
	}
}

// dynamic fills an image with a pinned program and the C library, without a shell.
func (b Builder) dynamic(ctx context.Context, part, target string) func(*layer) error {
	return func(l *layer) error {
		if err := b.debian(ctx, l, "libc6"); err != nil {
			return err
		}
		return l.binary(target, b.Pins.Path(part, "bin", part))
	}
}

// debian adds packages and their dependencies.
func (b Builder) debian(ctx context.Context, l *layer, names ...string) error {
	specs, err := closure(ctx, names...)
	if err != nil {
		return err
	}
	files, err := download(ctx, filepath.Join(b.Cache, "debs"), specs...)
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

// triton is the server with its Python backend, on the CPU, and Models in /models.
// The backend starts its processes with bash.
func (b Builder) triton(ctx context.Context, l *layer) error {
	if err := b.debian(ctx, l, "bash", "dash", "coreutils", "grep", "libpython3.11", "libexpat1", "libstdc++6"); err != nil {
		return err
	}
	if err := l.tree(b.Pins.Path("triton", "lib"), placeTriton); err != nil {
		return err
	}
	python := b.Pins.Path("triton", "python", "lib", "python3.11", "site-packages")
	if err := l.tree(python, func(p string) string { return "/usr/lib/python3/dist-packages/" + p }); err != nil {
		return err
	}
	for path, text := range ModelFiles() {
		if err := l.text("/models/"+path, text); err != nil {
			return err
		}
	}
	return nil
}

// ModelFiles are the files of a repository with Models, by path.
func ModelFiles() map[string]string {
	files := map[string]string{}
	for name, seconds := range Models {
		files[name+"/1/model.py"] = model
		files[name+"/config.pbtxt"] = fmt.Sprintf(modelConfig, name, seconds)
	}
	return files
}

// placeTriton puts the server at the path of its official image, and its libraries
// where no other program finds them.
func placeTriton(path string) string {
	if rest, ok := strings.CutPrefix(path, "pytriton/tritonserver/"); ok {
		return "/opt/tritonserver/" + rest
	}
	if rest, ok := strings.CutPrefix(path, "nvidia_pytriton.libs/"); ok {
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
