package proxy

import (
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// A pod has an IPv4 address, an IPv6 address or both.
func TestBothFamilies(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {drain: {timeSeconds: 1}}", Everywhere: true})
	rendered := manifest.Render(t, "{prometheus: {enabled: true}, metricsCollector: {enabled: true, host: 0.0.0.0}}")
	collector := envoy.Start(t, envoy.Options{
		Bootstrap:  manifest.Data(t, rendered, "collector/collector.yaml")["envoy.yaml"],
		Endpoints:  map[string]string{"prometheus": p.Prometheus.Addr},
		Everywhere: true,
	})
	for _, loopback := range []string{"127.0.0.1", "::1"} {
		t.Run(loopback, func(t *testing.T) {
			if l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0")); err != nil {
				t.Skipf("this machine has no such address: %v", err)
			} else if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			at := func(e *envoy.Envoy, listener string) string {
				_, port, err := net.SplitHostPort(e.Addr(t, listener))
				if err != nil {
					t.Fatal(err)
				}
				return net.JoinHostPort(loopback, port)
			}
			if r := envoy.Dial(t, at(p.Envoy, "listener_grpc")).Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
				t.Errorf("ModelInfer: %v %s", r.Code, r.Message)
			}
			for _, probe := range []struct {
				at, path string
				want     int
			}{
				{at(p.Envoy, "stats"), "/ready", http.StatusOK},
				{at(p.Envoy, "drain"), "/", http.StatusNotFound},
				{at(collector, "metrics"), "/health", http.StatusOK},
			} {
				if status, _ := request(t, probe.at, "GET", probe.path); status != probe.want {
					t.Errorf("%s%s: %d, want %d", probe.at, probe.path, status, probe.want)
				}
			}
		})
	}
}
