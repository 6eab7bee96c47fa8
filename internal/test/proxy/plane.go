// Package proxy runs in tests what the chart renders for Envoy: the whole of envoy.yaml with the files that its pod
// mounts, in the real Envoy, between stubs of Triton and Prometheus.
package proxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// Options say what is rendered and what stands around it.
type Options struct {
	Values    string            // YAML, as a user writes it
	Secrets   map[string]string // content by path under the folder of mounted Secrets, such as tls/tls.crt
	External  string            // what the user's own ConfigMap holds, with envoy.external_config
	Endpoints map[string]string // host:port by cluster, beside Triton's and Prometheus'
	Resolver  string            // host:port of a DNS server; Triton's clusters then keep their name
	Workers   int               // 0 means 2
	Args      []string          // further arguments of Envoy
}

// Plane is a running Envoy of the chart.
type Plane struct {
	*envoy.Envoy
	Triton     *envoy.Triton
	Prometheus *envoy.Prometheus
	Client     *envoy.Client // not encrypted
	Manifests  render.Manifests

	dir string // in place of the folders that the pod mounts
}

// Start renders the chart, writes its files and runs Envoy. The test fails unless Envoy accepts them.
func Start(t testing.TB, o Options) *Plane {
	t.Helper()
	p := &Plane{Manifests: Render(t, o.Values), dir: t.TempDir()}
	p.Triton, p.Prometheus = envoy.StartTriton(t), envoy.StartPrometheus(t)
	p.Run(t, o)
	return p
}

// Run starts one more Envoy of the same files and keeps it as the plane's.
func (p *Plane) Run(t testing.TB, o Options) {
	t.Helper()
	for name, content := range o.Secrets {
		p.write(t, filepath.Join("secrets", name), content)
	}
	p.writeConfigMap(t, "envoy/configmap.yaml", "config")
	p.writeConfigMap(t, "envoy/lua-configmap.yaml", "gate")
	args, merged := p.arguments(t)
	bootstrap := o.External
	if bootstrap == "" {
		bootstrap = p.read(t, "config/envoy.yaml")
	}
	if o.Resolver != "" {
		bootstrap = withResolver(t, bootstrap, o.Resolver)
	}
	p.Envoy = envoy.Start(t, envoy.Options{
		Bootstrap: bootstrap, Merged: merged, Endpoints: p.endpoints(t, o, bootstrap, merged), Workers: o.Workers,
		Args: append(args, o.Args...), Env: []string{"OTEL_RESOURCE_ATTRIBUTES=service.name=the-pod"},
	})
	p.Client = envoy.Dial(t, p.Addr(t, "listener_grpc"))
}

// Render gives the manifests of the chart with a user's values, in namespace cms, release sonic.
func Render(t testing.TB, values string) render.Manifests {
	t.Helper()
	m, err := tryRender(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tryRender(t testing.TB, values string) (render.Manifests, error) {
	t.Helper()
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	vals := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &vals); err != nil {
		t.Fatal(err)
	}
	return render.Chart(c, vals, render.Options{Release: "sonic", Namespace: "cms", Strict: true})
}

// local puts the test's folder in place of those that the pod mounts.
func (p *Plane) local(text string) string {
	return strings.NewReplacer("/etc/envoy/", p.dir+"/", "/etc/prometheus-client", p.dir+"/prometheus-client").Replace(text)
}

func (p *Plane) writeConfigMap(t testing.TB, manifest, folder string) {
	t.Helper()
	text, ok := p.Manifests[manifest]
	if !ok {
		return
	}
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(text), &configMap); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	for name, content := range configMap.Data {
		p.write(t, filepath.Join(folder, name), p.local(content))
	}
}

func (p *Plane) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *Plane) read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// arguments are those of the rendered container, less those that the test gives itself, and what is to be merged.
func (p *Plane) arguments(t testing.TB) (args []string, merged string) {
	t.Helper()
	rendered := p.Container(t).Args
	for i := 0; i < len(rendered); i++ {
		// Kubernetes would replace the variable, and takes $$ for $.
		arg := p.local(strings.NewReplacer("$(POD_NAME)", "the-pod", "$$(", "$(").Replace(rendered[i]))
		switch arg {
		case "--config-path", "--concurrency", "--log-level", "--service-cluster", "--service-node":
			i++
		case "--config-yaml":
			i++
			merged = p.local(strings.ReplaceAll(rendered[i], "$$(", "$("))
		case "--disable-hot-restart":
		default:
			args = append(args, arg)
		}
	}
	return args, merged
}
