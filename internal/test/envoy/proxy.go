package envoy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// ProxyOptions are the values and the surroundings of a Proxy.
type ProxyOptions struct {
	Values     string              // YAML, as a user writes it
	Secrets    map[string]string   // content by path under the folder of mounted Secrets, such as tls/tls.crt
	External   string              // content of the user's own ConfigMap, with envoy.external_config
	Endpoints  map[string]string   // host:port by cluster, except for Triton's and Prometheus'
	Resolver   string              // host:port of a DNS server; Triton's clusters then keep their name
	Workers    int                 // 0 means 2
	Args       []string            // further arguments of Envoy
	Everywhere bool                // as in Options
	GateEdit   func(string) string // changes the gate's files, for example to add an error; may be nil
}

// A Proxy is the chart's Envoy, the whole of envoy.yaml with the files that its pod mounts, between stubs of Triton and
// Prometheus.
type Proxy struct {
	*Envoy
	Triton     *Triton
	Prometheus *Prometheus
	Client     *Client // not encrypted
	Manifests  render.Manifests
	Dir        string // replaces /etc/envoy and the parent folder of prometheus-client
}

// NewProxy renders the chart and starts the stubs, without Envoy.
func NewProxy(t testing.TB, values string) *Proxy {
	t.Helper()
	return &Proxy{
		Triton: StartTriton(t), Prometheus: StartPrometheus(t),
		Manifests: manifest.Render(t, values), Dir: t.TempDir(),
	}
}

// StartProxy renders the chart, writes its files and runs Envoy. The test fails unless Envoy accepts them.
func StartProxy(t testing.TB, o ProxyOptions) *Proxy {
	t.Helper()
	p := NewProxy(t, o.Values)
	p.Run(t, o)
	return p
}

// Run starts an Envoy with the rendered files, and makes it the proxy's Envoy.
func (p *Proxy) Run(t testing.TB, o ProxyOptions) {
	t.Helper()
	for name, content := range o.Secrets {
		p.write(t, filepath.Join("secrets", name), content)
	}
	p.MountGate(t, o.GateEdit)
	bootstrap := o.External
	if bootstrap == "" {
		bootstrap = p.mountConfig(t)
	}
	if o.Resolver != "" {
		bootstrap = withResolver(t, bootstrap, o.Resolver)
	}
	args, merged := p.Arguments(t)
	p.Envoy = Start(t, Options{
		Bootstrap: bootstrap, Merged: merged, Endpoints: p.endpoints(t, o, bootstrap, merged), Workers: o.Workers,
		Args: append(args, o.Args...), Env: []string{"OTEL_RESOURCE_ATTRIBUTES=service.name=the-pod"}, Everywhere: o.Everywhere,
	})
	p.Client = Dial(t, p.Addr(t, "listener_grpc"))
}

// mountConfig writes the files of Envoy's ConfigMap, and returns the bootstrap.
func (p *Proxy) mountConfig(t testing.TB) (bootstrap string) {
	t.Helper()
	const path = "envoy/configmap.yaml"
	for name, text := range manifest.Data(t, p.Manifests, path) {
		p.write(t, filepath.Join("config", name), p.local(text))
	}
	return p.local(manifest.File(t, p.Manifests, path, "envoy.yaml"))
}

// MountGate mounts the gate's files, if there are any, as the kubelet does after a change.
func (p *Proxy) MountGate(t testing.TB, edit func(string) string) {
	t.Helper()
	const path = "envoy/lua-configmap.yaml"
	if _, ok := p.Manifests[path]; !ok {
		return
	}
	files := manifest.Data(t, p.Manifests, path)
	for name, text := range files {
		if edit != nil {
			text = edit(text)
		}
		files[name] = p.local(text)
	}
	Mount(t, filepath.Join(p.Dir, "gate"), files)
}

// Container returns the rendered container of Envoy.
func (p *Proxy) Container(t testing.TB) corev1.Container {
	t.Helper()
	containers := manifest.Object[appsv1.Deployment](t, p.Manifests, "envoy/deployment.yaml").Spec.Template.Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("envoy/deployment.yaml: %d containers", len(containers))
	}
	return containers[0]
}

// Arguments returns the arguments of the rendered container, without those that a test sets, and the YAML to merge.
func (p *Proxy) Arguments(t testing.TB) (args []string, merged string) {
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

// local replaces the folders that the pod mounts by the test's folder.
func (p *Proxy) local(text string) string {
	return strings.NewReplacer("/etc/envoy/", p.Dir+"/", "/etc/prometheus-client", p.Dir+"/prometheus-client").Replace(text)
}

func (p *Proxy) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
