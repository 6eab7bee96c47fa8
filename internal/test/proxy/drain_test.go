package proxy

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// A relay acts as a Service: new connections go to its current target, and old ones keep theirs.
type relay struct {
	addr   string
	target atomic.Pointer[string]
}

func startRelay(t testing.TB, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r := &relay{addr: listener.Addr().String()}
	r.target.Store(&target)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(client)
		}
	}()
	return r
}

func (r *relay) carry(client net.Conn) {
	server, err := net.Dial("tcp", *r.target.Load())
	if err != nil {
		_ = client.Close()
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}

// load is a number of clients, each with its own connection, which call without pauses.
type load struct {
	stop   chan struct{}
	wait   sync.WaitGroup
	mu     sync.Mutex
	calls  int
	failed []string
}

const longCall = 2 * time.Second

// startLoad starts the clients. Every fourth makes index calls, whose delay can be set separately.
func startLoad(t testing.TB, addr string, clients int) *load {
	l := &load{stop: make(chan struct{})}
	for i := range clients {
		client, method := envoy.Dial(t, addr), envoy.ModelInfer
		if i%4 == 0 {
			method = envoy.RepositoryIndex
		}
		l.wait.Go(func() { l.run(client, method, nil) })
	}
	return l
}

func (l *load) run(client *envoy.Client, method string, message []byte) {
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		r := client.Call(ctx, method, message)
		cancel()
		l.mu.Lock()
		l.calls++
		if r.Code != codes.OK {
			l.failed = append(l.failed, fmt.Sprintf("%s after %s: %v %s", method, r.Took, r.Code, r.Message))
		}
		l.mu.Unlock()
	}
}

// end stops the clients after their current calls. The test fails if any call failed.
func (l *load) end(t testing.TB) {
	t.Helper()
	close(l.stop)
	l.wait.Wait()
	for _, text := range l.failed {
		t.Errorf("a call failed: %s", text)
	}
	t.Logf("%d calls", l.calls)
	if l.calls < 100 {
		t.Errorf("%d calls prove nothing", l.calls)
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// preStop does what the kubelet does before it sends SIGTERM.
func (p *proxy) preStop(t testing.TB) {
	t.Helper()
	hook := p.Container(t).Lifecycle.PreStop
	if hook.Sleep != nil {
		time.Sleep(time.Duration(hook.Sleep.Seconds) * time.Second)
		return
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+p.Addr(t, hook.HTTPGet.Port.StrVal)+hook.HTTPGet.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hook.HTTPGet.HTTPHeaders {
		r.Header.Set(h.Name, h.Value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || string(body) != "drained\n" {
		t.Errorf("the hook: %d %q", response.StatusCode, body)
	}
}

var rolls = flag.Int("rolls", 1, "rolls of Envoy under load, for each way to drain it")

// A rolling restart of Envoy replaces one pod after the other, while kube-proxy keeps old connections.
func TestRollFailsNoCall(t *testing.T) {
	for name, values := range map[string]string{
		"hook":  "envoy: {drain: {timeSeconds: 3}}",
		"sleep": "envoy: {maxConnectionDuration: 2s, drain: {method: sleep, seconds: 6}}",
	} {
		t.Run(name, func(t *testing.T) {
			old := start(t, envoy.ProxyOptions{Values: values})
			old.Triton.SetDelayOf(envoy.RepositoryIndex, longCall)
			old.infer(t, codes.OK)
			service := startRelay(t, old.Addr(t, "listener_grpc"))
			clients := startLoad(t, service.addr, 16)
			envoy.Await(t, settle, "work", func() bool { return clients.count() > 200 })

			for range *rolls {
				old = old.rollOver(t, values, service)
				before := clients.count()
				envoy.Await(t, settle, "work at the new Envoy", func() bool { return clients.count() > before+200 })
			}
			clients.end(t)
		})
	}
}

// rollOver starts another Envoy, directs new connections to it, and stops this one as the kubelet does.
func (p *proxy) rollOver(t testing.TB, values string, service *relay) *proxy {
	t.Helper()
	other := *p.Proxy
	fresh := &proxy{&other}
	fresh.Run(t, envoy.ProxyOptions{Values: values})
	fresh.infer(t, codes.OK)
	target := fresh.Addr(t, "listener_grpc")
	service.target.Store(&target)
	p.preStop(t)
	if err := syscall.Kill(p.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// A drain does not wait for a long call beyond the pod's grace period.
func TestDrainEndsInTime(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {drain: {timeSeconds: 1, seconds: 3}}"})
	p.infer(t, codes.OK)
	p.Triton.SetDelay(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.Client.Call(ctx, envoy.ModelInfer, nil)
	envoy.Await(t, settle, "the call", func() bool {
		return p.Value(t, "envoy_http_downstream_rq_active", "envoy_http_conn_manager_prefix", "ingress_grpc") == 1
	})
	start := time.Now()
	body := p.askDrain(t.Context(), t)
	if took := time.Since(start); body != "calls are left\n" || took < 3*time.Second || took > 18*time.Second {
		t.Errorf("the hook: %q after %s, want \"calls are left\" after 3 s, before the 18 s of the pod are over", body, took)
	}
}

// Held calls that would outlast a drain get a message before it ends, and the drain succeeds.
func TestHeldCallsWhileDraining(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {hold: {enabled: true}, drain: {timeSeconds: 1, seconds: 6}}"})
	p.infer(t, codes.OK)
	p.Triton.Down()
	p.awaitHealthy(t, 0)
	ended := make(chan envoy.Reply, 1)
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	go func() { ended <- p.Client.Call(ctx, envoy.RepositoryIndex, nil) }()
	envoy.Await(t, settle, "a call that waits", func() bool { return p.cluster(t, "upstream_rq_active", "gate_wait") == 1 })
	start := time.Now()
	p.preStop(t)
	r := <-ended
	if r.Code != codes.Unavailable || r.Message != shuttingDown {
		t.Errorf("the call that waited: %v %q", r.Code, r.Message)
	}
	if took := time.Since(start); took < 3*time.Second {
		t.Errorf("the drain took %s, want calls to wait for its first 3 s", took)
	}
}

// The drain does not wait for a long query of the gate, which is not a client's call.
func TestDrainDoesNotWaitForTheGate(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: `
envoy: {rate_limiter: {prometheus_based: {enabled: true, timeoutSeconds: 60}}, drain: {timeSeconds: 1, seconds: 30}}
prometheus: {enabled: true}
`})
	p.Prometheus.Set(envoy.Answer{Hang: true})
	envoy.Await(t, settle, "a query that is not answered", func() bool {
		return p.cluster(t, "upstream_rq_active", "prometheus_cluster") == 1
	})
	p.preStop(t)
	if n := p.cluster(t, "upstream_rq_active", "prometheus_cluster"); n != 1 {
		t.Errorf("the drain has ended after the query: %v are active", n)
	}
}
