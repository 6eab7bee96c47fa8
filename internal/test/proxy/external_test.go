package proxy

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

const externalWithGate = `
envoy:
  external_config: {load_from_configmap: true, configmap_name: mine}
  rate_limiter: {prometheus_based: {enabled: true}}
prometheus: {enabled: true}
`

// The lines that NOTES.txt prints add the gate to a custom configuration.
func TestOwnConfigurationWithGate(t *testing.T) {
	notes := manifest.Render(t, externalWithGate).Notes()
	_, lines, found := strings.Cut(notes, "cluster triton_grpc_service:\n\n")
	lines, _, _ = strings.Cut(lines, "\n\n")
	if !found {
		t.Fatalf("NOTES has no lines for the gate:\n%s", notes)
	}
	indented := "\n        " + strings.ReplaceAll(lines, "\n", "\n        ")
	own := strings.Replace(ownConfiguration, "http_filters:", "http_filters:"+indented, 1)
	p := &proxy{envoy.NewProxy(t, externalWithGate)}
	p.Prometheus.Set(envoy.Sample("3.2"))
	p.Run(t, envoy.ProxyOptions{External: strings.ReplaceAll(own, "/etc/envoy/", p.Dir+"/")})

	envoy.Await(t, settle, "a refusal", func() bool {
		return p.Client.Call(t.Context(), envoy.RepositoryIndex, nil).Code == codes.ResourceExhausted
	})
	if got := p.Value(t, "envoy_http_lua_gate_outcome", "outcome", "refused"); got == 0 {
		t.Error("the refusal is not counted by outcome")
	}
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
		t.Errorf("ModelInfer: %v %s", r.Code, r.Message)
	}
}

// A custom configuration has the same protection and stats as the chart's.
func TestProtectionOfOwnConfig(t *testing.T) {
	p := start(t, envoy.ProxyOptions{
		Values:   "envoy: {external_config: {load_from_configmap: true, configmap_name: mine}, drain: {timeSeconds: 1}}",
		External: ownConfiguration,
	})
	if _, merged := p.Arguments(t); !strings.Contains(merged, `"admin":{"address":{"socket_address":{"address":"127.0.0.1"`) {
		t.Errorf("the user's admin interface is not moved to loopback: %s", merged)
	}
	if status, _ := request(t, p.Addr(t, "stats"), "GET", "/ready"); status != http.StatusOK {
		t.Errorf("readiness: %d", status)
	}
	if status, _ := request(t, p.Addr(t, "stats"), "GET", "/quitquitquit"); status != http.StatusNotFound {
		t.Errorf("/quitquitquit on the stats listener: %d, want 404", status)
	}
	p.preStop(t)
}

// Kubernetes would expand $(NAME) in an argument.
func TestMergedConfiguration(t *testing.T) {
	p := &envoy.Proxy{Manifests: manifest.Render(t, externalWithGate)}
	for _, arg := range p.Container(t).Args {
		if rest := strings.ReplaceAll(arg, "$$(", ""); strings.Contains(rest, "$(") && arg != "$(POD_NAME)" {
			t.Errorf("an argument that Kubernetes would expand: %.200s", arg)
		}
	}
}
