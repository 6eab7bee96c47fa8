package chart_test

import (
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// One connection may have a share of the held calls.
func TestHoldShare(t *testing.T) {
	const ingress = "ingress: {enabled: true, hostName: a.example.org}"
	for _, c := range []struct{ hold, envoy, want string }{
		{"", "", "88"},
		{"maxCalls: 10", "", "3"},
		{"maxCallsPerConnection: 7", "", "7"},
		{"", ingress, "350"},
		{"maxCallsPerConnection: 7", ingress, "7"},
	} {
		m := manifest.Render(t, "envoy: {hold: {enabled: true, "+c.hold+"}, "+c.envoy+"}")
		if gate := manifest.File(t, m, "envoy/lua-configmap.yaml", "gate.yaml"); !strings.Contains(gate, "share = "+c.want+",") {
			t.Errorf("hold: {%s}, %s: want a share of %s in\n%s", c.hold, c.envoy, c.want, gate)
		}
	}
}
