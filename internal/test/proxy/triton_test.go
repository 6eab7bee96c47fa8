package proxy

import (
	"flag"
	"net"
	"syscall"
	"testing"

	"github.com/miekg/dns"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
)

// realFleet returns an Envoy with real replicas, at the addresses in a stub of the cluster's DNS.
func realFleet(t *testing.T) (*proxy, *nameServer, string) {
	t.Helper()
	names, port := startNameServer(t), ports.Free(t)
	p := &proxy{envoy.NewProxy(t, withTritonPort(port))}
	p.Run(t, envoy.ProxyOptions{Resolver: names.addr})
	return p, names, port
}

var scaleDowns = flag.Int("scale-downs", 2, "scale-downs of a real Triton under load")

// A replica that is scaled down leaves DNS, continues for triton.drain.sleepSeconds, and gets SIGTERM. No call fails.
func TestScaleDownFailsNoCall(t *testing.T) {
	p, names, port := realFleet(t)
	runTriton(t, net.JoinHostPort("127.0.0.1", port))
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	p.awaitHealthy(t, 1)
	clients := &load{stop: make(chan struct{})}
	for i := range 12 {
		client := envoy.Dial(t, p.Addr(t, "listener_grpc"))
		model := []string{"double", "half"}[i%2]
		clients.wait.Go(func() { clients.run(client, envoy.ModelInfer, inferRequest(model, 1)) })
	}
	for range *scaleDowns {
		second, metrics := runTriton(t, net.JoinHostPort("127.0.0.2", port))
		names.Answer(dns.RcodeSuccess, "127.0.0.1", "127.0.0.2")
		p.awaitHealthy(t, 2)
		envoy.Await(t, settle, "work at the second replica", func() bool { return succeeded(t, metrics) > 20 })

		names.Answer(dns.RcodeSuccess, "127.0.0.1")
		envoy.Await(t, settle, "Envoy to follow DNS", func() bool {
			return p.cluster(t, "membership_total", service) == 1
		})
		if err := second.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = second.Wait() // its status only tells that unloading took longer than the exit timeout
		before := clients.count()
		envoy.Await(t, settle, "work at the first replica", func() bool { return clients.count() > before+50 })
	}
	clients.end(t)
}

// succeeded returns the number of successful inferences of a Triton.
func succeeded(t *testing.T, metricsURL string) float64 {
	t.Helper()
	sum := 0.0
	for _, m := range exported(t, metricsURL)["nv_inference_request_success"].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return sum
}

// A real replica answers health checks as the stub does, and answers calls to an unknown model itself.
func TestRealTriton(t *testing.T) {
	p, names, port := realFleet(t)
	runTriton(t, net.JoinHostPort("127.0.0.1", port))
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	p.awaitHealthy(t, 1)
	for method, message := range map[string][]byte{
		envoy.HealthCheck: nil, envoy.ServerLive: nil, envoy.ServerReady: nil, envoy.RepositoryIndex: nil,
		envoy.ModelInfer: inferRequest("double", 1),
	} {
		if r := p.Client.Call(t.Context(), method, message); r.Code != codes.OK {
			t.Errorf("%s: %v %s", method, r.Code, r.Message)
		}
	}
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, inferRequest("none", 1)); r.Code != codes.NotFound {
		t.Errorf("ModelInfer of a model that is not there: %v %s, want NotFound", r.Code, r.Message)
	}
}
