package proxy

import (
	"net"
	"net/http"
	"testing"

	"github.com/miekg/dns"
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
			needAddress(t, loopback)
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

// needAddress skips a test on a machine without the address.
func needAddress(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Skipf("this machine has no such address: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A replica has an address of one family or of both in DNS, and counts once.
func TestDNSFamilies(t *testing.T) {
	needAddress(t, "::1")
	for _, tc := range []struct {
		name      string
		addresses []string
		ipv6      bool // the calls arrive over IPv6
	}{
		{"ipv6-alone", []string{"::1"}, true},
		{"ipv4-alone", []string{"127.0.0.1"}, false},
		{"both", []string{"::1", "127.0.0.1"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, names := fleet(t, "")
			ipv4 := p.Triton
			ipv6 := envoy.StartTritonAt(t, net.JoinHostPort("::1", port(t, ipv4.Addr)))
			names.Answer(dns.RcodeSuccess, tc.addresses...)
			p.awaitHealthy(t, 1)
			if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
				t.Fatalf("ModelInfer: %v %s", r.Code, r.Message)
			}
			if members := p.cluster(t, "membership_total", service); members != 1 {
				t.Errorf("%v replicas, want 1", members)
			}
			called, other := ipv4, ipv6
			if tc.ipv6 {
				called, other = ipv6, ipv4
			}
			if called.Calls(envoy.ModelInfer) != 1 || other.Calls(envoy.ModelInfer) != 0 {
				t.Errorf("the call did not arrive at %s alone", called.Addr)
			}
		})
	}
}
