// Package proxy tests the chart's Envoy in front of a stub of Triton, and of a real one.
package proxy

import (
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// A proxy is the chart's Envoy between stubs, with the helpers of these tests.
type proxy struct{ *envoy.Proxy }

func start(t testing.TB, o envoy.ProxyOptions) *proxy {
	t.Helper()
	return &proxy{envoy.StartProxy(t, o)}
}
