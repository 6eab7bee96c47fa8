package envoy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A custom bootstrap runs on free ports of loopback, and still reaches its own admin interface.
func TestRebind(t *testing.T) {
	const bootstrap = `
admin: {address: {socket_address: {address: 0.0.0.0, port_value: 9901}}}
static_resources:
  listeners:
  - {name: grpc, address: {socket_address: {address: 0.0.0.0, port_value: 8001}}}
  - {name: inside, internal_listener: {}}
  clusters:
  - name: admin
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 0.0.0.0, port_value: 9901}}}}]}]}
  - name: triton
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: triton.test, port_value: 8001}}}}]}]}
`
	const want = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 1111}}}
static_resources:
  listeners:
  - {name: grpc, address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
  - {name: inside, internal_listener: {}}
  clusters:
  - name: admin
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 1111}}}}]}]}
  - name: triton
    load_assignment:
      cluster_name: triton
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 2222}}}}]}]
`
	endpoints := map[string]string{"triton": "127.0.0.1:2222", "gone": "127.0.0.1:2222"}
	got, err := rebind([]byte(bootstrap), "127.0.0.1:1111", endpoints, false)
	if err != nil {
		t.Fatal(err)
	}
	var gotTree, wantTree any
	for text, tree := range map[string]*any{string(got): &gotTree, want: &wantTree} {
		if err := yaml.Unmarshal([]byte(text), tree); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(wantTree, gotTree); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(endpoints) != 1 || endpoints["gone"] == "" {
		t.Errorf("endpoints left: %v, want those of the cluster that is not there", endpoints)
	}
}
