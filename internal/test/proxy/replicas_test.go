package proxy

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

const (
	service = "triton_grpc_service"
	health  = "triton_grpc_health"
	settle  = 30 * time.Second // for Envoy to learn of a change, on a machine that is busy
)

func (p *proxy) cluster(t testing.TB, metric, cluster string) float64 {
	t.Helper()
	return p.Value(t, "envoy_cluster_"+metric, "envoy_cluster_name", cluster)
}

// fleet returns an Envoy whose replicas are those in a stub of the cluster's DNS. They have the port of the first.
func fleet(t testing.TB, values string) (*proxy, *nameServer) {
	t.Helper()
	names := startNameServer(t)
	p := &proxy{envoy.NewProxy(t, values)}
	p.Manifests = manifest.Render(t, withTritonPort(port(t, p.Triton.Addr))+values)
	p.Run(t, envoy.ProxyOptions{Resolver: names.addr})
	return p, names
}

// withTritonPort returns values for replicas that listen on a port.
func withTritonPort(port string) string {
	return fmt.Sprintf(`
triton:
  service:
    ports:
    - {name: http, port: 8000, targetPort: 8000, protocol: TCP}
    - {name: grpc, port: 8001, targetPort: %s, protocol: TCP}
    - {name: metrics, port: 8002, targetPort: 8002, protocol: TCP}
`, port)
}

func port(t testing.TB, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func (p *proxy) awaitHealthy(t testing.TB, want float64) {
	t.Helper()
	envoy.Await(t, settle, fmt.Sprintf("%v healthy replicas", want), func() bool {
		return p.cluster(t, "membership_healthy", service) == want
	})
}

// DNS without addresses empties the cluster, in whichever form it answers. A failing DNS changes nothing.
func TestDNS(t *testing.T) {
	p, names := fleet(t, "envoy: {healthCheck: {enabled: false}}")
	for _, step := range []struct {
		name      string
		rcode     int
		addresses []string
		want      float64
	}{
		{"three", dns.RcodeSuccess, []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, 3},
		{"no-such-name", dns.RcodeNameError, nil, 0},
		{"two", dns.RcodeSuccess, []string{"127.0.0.1", "127.0.0.2"}, 2},
		{"no-address", dns.RcodeSuccess, nil, 0},
		{"one", dns.RcodeSuccess, []string{"127.0.0.1"}, 1},
	} {
		names.Answer(step.rcode, step.addresses...)
		envoy.Await(t, settle, step.name, func() bool {
			return p.cluster(t, "membership_total", service) == step.want
		})
	}
	failures := p.cluster(t, "update_failure", service)
	names.Answer(dns.RcodeServerFailure)
	envoy.Await(t, settle, "DNS that fails", func() bool {
		return p.cluster(t, "update_failure", service) > failures+1
	})
	if got := p.cluster(t, "membership_total", service); got != 1 {
		t.Errorf("replicas while DNS fails: %v, want the 1 that was there", got)
	}
}

// A deleted pod leaves DNS, but answers until its drain ends: new calls must not reach it.
func TestReplicaLeavesDNS(t *testing.T) {
	p, names := fleet(t, "")
	second := envoy.StartTritonAt(t, net.JoinHostPort("127.0.0.2", port(t, p.Triton.Addr)))
	names.Answer(dns.RcodeSuccess, "127.0.0.1", "127.0.0.2")
	p.awaitHealthy(t, 2)
	for range 20 {
		if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
			t.Fatalf("ModelInfer: %v %s", r.Code, r.Message)
		}
	}
	if second.Calls(envoy.ModelInfer) == 0 {
		t.Fatal("the second replica got no call while it was in DNS")
	}
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	envoy.Await(t, settle, "the second replica is gone", func() bool {
		return p.cluster(t, "membership_total", service) == 1
	})
	before := second.Calls(envoy.ModelInfer)
	for range 50 {
		if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
			t.Errorf("ModelInfer: %v %s", r.Code, r.Message)
		}
	}
	if got := second.Calls(envoy.ModelInfer) - before; got != 0 {
		t.Errorf("calls that reached the replica that left: %d", got)
	}
}

// With Envoy's panic mode, half the calls would go to a dead replica, and nothing would wake a fleet at zero.
func TestUnhealthyReplicaAvoided(t *testing.T) {
	p, names := fleet(t, "envoy: {outlierDetection: {enabled: false}}")
	names.Answer(dns.RcodeSuccess, "127.0.0.1", "127.0.0.9")
	p.awaitHealthy(t, 1)
	for range 50 {
		if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
			t.Errorf("ModelInfer beside a dead replica: %v %s", r.Code, r.Message)
		}
	}
	p.Triton.SetServing(false)
	p.awaitHealthy(t, 0)
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.Unavailable || r.Took > settle/3 {
		t.Errorf("ModelInfer without a healthy replica: %v after %s, want Unavailable at once", r.Code, r.Took)
	}
	if p.cluster(t, "upstream_cx_none_healthy", service) == 0 {
		t.Error("the call that found no replica is not counted")
	}
	p.Triton.SetServing(true)
	p.awaitHealthy(t, 1)
}

// Health methods must neither count as calls that found no replica nor add to the request time.
func TestHealthMethods(t *testing.T) {
	p, names := fleet(t, "")
	envoy.Await(t, settle, "an answer of DNS", func() bool { return p.cluster(t, "update_attempt", service) > 0 })
	ask := func(want codes.Code) {
		for _, method := range []string{envoy.HealthCheck, envoy.ServerLive, envoy.ServerReady} {
			if r := p.Client.Call(t.Context(), method, nil); r.Code != want {
				t.Errorf("%s: %v %s, want %v", method, r.Code, r.Message, want)
			}
		}
	}
	ask(codes.Unavailable)
	if got := p.cluster(t, "upstream_cx_none_healthy", service); got != 0 {
		t.Errorf("health methods at zero replicas woke the fleet %v times", got)
	}
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.Unavailable {
		t.Errorf("ModelInfer at zero replicas: %v", r.Code)
	}
	if got := p.cluster(t, "upstream_cx_none_healthy", service); got != 1 {
		t.Errorf("calls that found no replica: %v, want 1", got)
	}
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	p.awaitHealthy(t, 1)
	ask(codes.OK)
	if got := p.cluster(t, "upstream_rq_total", service); got != 0 {
		t.Errorf("calls that count as load: %v, want 0", got)
	}
	if got := p.cluster(t, "upstream_rq_total", health); got != 3 {
		t.Errorf("health methods that reached a replica: %v, want 3", got)
	}
}

// No call fails because of a replica that refuses connections, even before Envoy marks it as unhealthy.
func TestRetryOnClosedPort(t *testing.T) {
	p, names := fleet(t, "envoy: {healthCheck: {enabled: false}, outlierDetection: {enabled: false}, loadBalancerPolicy: ROUND_ROBIN}")
	names.Answer(dns.RcodeSuccess, "127.0.0.1", "127.0.0.9")
	p.awaitHealthy(t, 2)
	for range 50 {
		if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
			t.Errorf("ModelInfer: %v %s", r.Code, r.Message)
		}
	}
	if p.cluster(t, "upstream_rq_retry", service) == 0 {
		t.Error("no call was tried twice, so the test proves nothing")
	}
}

// A call that a replica has begun is not retried, because it may have had effects.
func TestNoRetryOnceBegun(t *testing.T) {
	p := start(t, envoy.ProxyOptions{})
	p.infer(t, codes.OK)
	before := p.Triton.Calls(envoy.ModelInfer)
	if r := p.Client.Call(t.Context(), "/inference.GRPCInferenceService/Unknown", nil); r.Code != codes.Unimplemented {
		t.Errorf("a method that the replica lacks: %v, want its own Unimplemented", r.Code)
	}
	p.Triton.SetDelay(time.Minute)
	ended := make(chan envoy.Reply, 1)
	go func() { ended <- p.Client.Call(t.Context(), envoy.ModelInfer, nil) }()
	envoy.Await(t, settle, "the call at the replica", func() bool { return p.Triton.Calls(envoy.ModelInfer) == before+1 })
	p.Triton.Down()
	if r := <-ended; r.Code != codes.Unavailable {
		t.Errorf("a call whose replica died: %v, want Unavailable", r.Code)
	}
	if got := p.cluster(t, "upstream_rq_retry", service); got != 0 {
		t.Errorf("retries: %v, want 0", got)
	}
}

// Triton before 2023 has no grpc.health.v1, but has the method ServerReady.
func TestNoHealthService(t *testing.T) {
	p, names := fleet(t, "")
	p.Triton.Down()
	p.Triton.SetHealthService(false)
	p.Triton.Up(t)
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	p.awaitHealthy(t, 1)
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
		t.Errorf("ModelInfer: %v %s", r.Code, r.Message)
	}
	p.Triton.SetServing(false)
	p.awaitHealthy(t, 0)
}

// A hash policy sends the calls with the same key to one replica.
func TestHashPolicy(t *testing.T) {
	for _, policy := range []string{"RING_HASH", "MAGLEV"} {
		t.Run(policy, func(t *testing.T) {
			p, names := fleet(t, fmt.Sprintf("envoy: {loadBalancerPolicy: %s, hashPolicy: {header: x-model}}", policy))
			second := envoy.StartTritonAt(t, net.JoinHostPort("127.0.0.2", port(t, p.Triton.Addr)))
			names.Answer(dns.RcodeSuccess, "127.0.0.1", "127.0.0.2")
			p.awaitHealthy(t, 2)
			used := 0
			for key := range 10 {
				before := [2]int{p.Triton.Calls(envoy.ModelInfer), second.Calls(envoy.ModelInfer)}
				for range 5 {
					p.Client.Call(t.Context(), envoy.ModelInfer, nil, "x-model", fmt.Sprintf("model-%d", key))
				}
				got := [2]int{p.Triton.Calls(envoy.ModelInfer) - before[0], second.Calls(envoy.ModelInfer) - before[1]}
				if got != [2]int{5, 0} && got != [2]int{0, 5} {
					t.Errorf("model-%d: %v calls at the two replicas, want all 5 at one", key, got)
				}
				used |= 1 << min(got[1], 1)
			}
			if used != 3 {
				t.Error("all keys went to one replica")
			}
		})
	}
}

// With every policy, and slow start where it exists, both replicas get calls.
func TestLoadBalancing(t *testing.T) {
	for _, values := range []string{
		"loadBalancerPolicy: LEAST_REQUEST, slowStart: {window: 1s}", "loadBalancerPolicy: ROUND_ROBIN, slowStart: {window: 1s}",
		"loadBalancerPolicy: RANDOM",
	} {
		t.Run(values, func(t *testing.T) {
			p, names := fleet(t, "envoy: {"+values+"}")
			second := envoy.StartTritonAt(t, net.JoinHostPort("127.0.0.2", port(t, p.Triton.Addr)))
			names.Answer(dns.RcodeSuccess, "127.0.0.1", "127.0.0.2")
			p.awaitHealthy(t, 2)
			envoy.Await(t, settle, "calls at both replicas", func() bool {
				p.infer(t, codes.OK)
				return p.Triton.Calls(envoy.ModelInfer) > 0 && second.Calls(envoy.ModelInfer) > 0
			})
		})
	}
}

// A new replica is in DNS before it answers. Envoy must check it as often in an idle fleet as in a busy one.
func TestIdleFleetFindsReplica(t *testing.T) {
	p, names := fleet(t, "")
	p.Triton.Down()
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	envoy.Await(t, settle, "a failed health check", func() bool {
		return p.cluster(t, "health_check_failure", service) > 0
	})
	p.Triton.Up(t)
	p.awaitHealthy(t, 1)
}
