package proxy

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// addresses returns n addresses of loopback, at which one stub acts as n replicas.
func addresses(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("127.0.%d.%d", 1+i/250, 1+i%250)
	}
	return all
}

// bigFleet returns an Envoy whose replicas are one stub at many addresses.
func bigFleet(t testing.TB, values string, replicas int) (*proxy, *nameServer) {
	t.Helper()
	names := startNameServer(t)
	stub := envoy.StartTritonAt(t, "0.0.0.0:0")
	p := &proxy{&envoy.Proxy{Triton: stub, Prometheus: envoy.StartPrometheus(t), Dir: t.TempDir()}}
	p.Manifests = manifest.Render(t, withTritonPort(port(t, stub.Addr))+values)
	names.Answer(dns.RcodeSuccess, addresses(replicas)...)
	p.Run(t, envoy.ProxyOptions{Resolver: names.addr})
	return p, names
}

// A DNS answer with 100 replicas does not fit into a UDP packet. Envoy reads all of it, over TCP, and follows changes.
func TestHundredReplicas(t *testing.T) {
	const replicas = 100
	p, names := bigFleet(t, "", replicas)
	p.awaitHealthy(t, replicas)
	if names.OverTCP() == 0 {
		t.Error("no answer was given over TCP, so the test proves nothing")
	}
	names.Answer(dns.RcodeSuccess, addresses(replicas+1)...)
	p.awaitHealthy(t, replicas+1)
	names.Answer(dns.RcodeSuccess, addresses(replicas-1)...)
	p.awaitHealthy(t, replicas-1)
	p.infer(t, codes.OK)
}

// BenchmarkReplicas measures the cost of a number of replicas for one Envoy with two workers. The calls have no tensors,
// so the cost is Envoy's own.
func BenchmarkReplicas(b *testing.B) {
	for _, c := range []struct {
		name, values string
		replicas     int
	}{
		{"10", "", 10},
		{"100", "", 100},
		{"1000", "", 1000},
		{"1000-checks-5s", "envoy: {healthCheck: {interval: 5s}}", 1000},
		{"1000-no-checks", "envoy: {healthCheck: {enabled: false}}", 1000},
		{"1000-random", "envoy: {loadBalancerPolicy: RANDOM}", 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				measure(b, c.values, c.replicas)
			}
		})
	}
}

func measure(b *testing.B, values string, replicas int) {
	began := time.Now()
	p, names := bigFleet(b, values, replicas)
	ready := func(n int) time.Duration {
		started := time.Now()
		envoy.Await(b, 2*time.Minute, fmt.Sprintf("%d healthy replicas", n), func() bool {
			return strings.HasSuffix(p.Get(b, "/stats?filter=^cluster.triton_grpc_service.membership_healthy$"), fmt.Sprintf(": %d\n", n))
		})
		return time.Since(started)
	}
	ready(replicas)
	b.ReportMetric(time.Since(began).Seconds(), "all-s")
	b.ReportMetric(memory(b, p.Pid), "idle-MiB")
	b.ReportMetric(p.cores(b, 10*time.Second), "idle-cores")
	b.ReportMetric(float64(p.callMany(b, 20000).Microseconds())/20000, "call-µs")
	b.ReportMetric(memory(b, p.Pid), "used-MiB")
	var joins, leaves time.Duration
	for range 5 {
		names.Answer(dns.RcodeSuccess, addresses(replicas+1)...)
		joins += ready(replicas + 1)
		names.Answer(dns.RcodeSuccess, addresses(replicas)...)
		leaves += ready(replicas)
	}
	b.ReportMetric(joins.Seconds()/5, "join-s")
	b.ReportMetric(leaves.Seconds()/5, "leave-s")
	b.ReportMetric(p.cluster(b, "upstream_cx_active", service), "connections")
}

// callMany makes calls, 64 at a time, and returns the CPU time that Envoy used.
func (p *proxy) callMany(b *testing.B, calls int) time.Duration {
	b.Helper()
	warm := func(calls int) {
		var wait sync.WaitGroup
		for range 64 {
			wait.Go(func() {
				for range calls / 64 {
					if r := p.Client.Call(b.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
						b.Errorf("ModelInfer: %v %s", r.Code, r.Message)
					}
				}
			})
		}
		wait.Wait()
	}
	warm(calls) // opens the connections
	before := cpuTime(b, p.Pid)
	warm(calls)
	return cpuTime(b, p.Pid) - before
}

func (p *proxy) cores(b *testing.B, d time.Duration) float64 {
	b.Helper()
	before := cpuTime(b, p.Pid)
	time.Sleep(d)
	return (cpuTime(b, p.Pid) - before).Seconds() / d.Seconds()
}

// memory returns the resident memory of a process, in MiB.
func memory(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// cpuTime returns the CPU time of a process.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	var ticks int
	for _, field := range strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
