package proxy

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// With each example values file, Envoy starts without warnings and passes calls.
func TestValuesFiles(t *testing.T) {
	files, err := filepath.Glob("../../../values/values-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "values-"), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := envoy.ProxyOptions{Values: string(text)}
			if strings.Contains(o.Values, "load_from_configmap: true") {
				o.External = ownConfiguration
			}
			p := start(t, o)
			want := codes.OK
			if strings.Contains(p.Manifests["envoy/configmap.yaml"], "jwt_authn") {
				want = codes.Unauthenticated
			}
			got := p.infer(t, want)
			if got.Code != want {
				t.Errorf("ModelInfer: %v %s, want %v", got.Code, got.Message, want)
			}
			if r := p.Client.Call(t.Context(), envoy.ServerReady, nil); r.Code != codes.OK {
				t.Errorf("ServerReady: %v %s", r.Code, r.Message)
			}
			if log := p.Log(); strings.Contains(strings.ToLower(log), "deprecat") {
				t.Errorf("Envoy calls something deprecated:\n%s", log)
			}
		})
	}
}

// infer repeats a call until the replicas' health is known.
func (p *proxy) infer(t testing.TB, want codes.Code) envoy.Reply {
	t.Helper()
	var r envoy.Reply
	envoy.Await(t, settle, "an answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), settle)
		defer cancel()
		r = p.Client.Call(ctx, envoy.ModelInfer, nil)
		return r.Code == want || r.Code != codes.Unavailable
	})
	return r
}

// A custom configuration, with an open admin interface and without the chart's parts.
const ownConfiguration = `
admin: {address: {socket_address: {address: 0.0.0.0, port_value: 9901}}}
static_resources:
  listeners:
  - name: listener_grpc
    address: {socket_address: {address: 0.0.0.0, port_value: 8001}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress_grpc
          route_config:
            virtual_hosts:
            - {name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: triton_grpc_service}}]}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: triton_grpc_service
    type: STRICT_DNS
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: triton_grpc_service
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: supersonic-triton, port_value: 8001}}}}]}]
`
