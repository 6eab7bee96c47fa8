package proxy

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

const shuttingDown = "no replica is ready, and this Envoy is shutting down; try again"

// Anyone who reaches the port can start a drain. Its effect ends with the request.
func TestDrainWithoutStop(t *testing.T) {
	for name, attack := range map[string]func(*proxy, testing.TB){
		"one":                func(p *proxy, t testing.TB) { p.askDrains(t, 1, settle) },
		"client-that-leaves": func(p *proxy, t testing.TB) { p.askDrains(t, 1, 2500*time.Millisecond) },
		"three-hundred":      func(p *proxy, t testing.TB) { p.askDrains(t, 300, settle) },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, envoy.ProxyOptions{Values: "envoy: {hold: {enabled: true}, drain: {timeSeconds: 1, seconds: 5}}"})
			p.infer(t, codes.OK)
			p.Triton.Down()
			p.awaitHealthy(t, 0)
			stop := p.startHeldCalls(t)
			attack(p, t)
			if told := stop(); told == 0 {
				t.Error("no held call was told that Envoy is shutting down")
			}
			p.holdsAgain(t)
			p.keepsConnections(t)
		})
	}
}

// Drains that others have asked for, before a roll or during it, do not make the roll fail a call.
func TestRollWhileOthersDrain(t *testing.T) {
	const values = "envoy: {drain: {timeSeconds: 2, seconds: 20}}"
	p := start(t, envoy.ProxyOptions{Values: values})
	p.Triton.SetDelayOf(envoy.RepositoryIndex, longCall)
	p.infer(t, codes.OK)
	p.askDrains(t, 1, settle)
	p.keepsConnections(t)

	service := startRelay(t, p.Addr(t, "listener_grpc"))
	clients := startLoad(t, service.addr, 16)
	envoy.Await(t, settle, "work", func() bool { return clients.count() > 200 })
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for i := range 200 {
		others.Go(func() {
			for ctx.Err() == nil { // some stay, some come and go
				soon, leave := context.WithTimeout(ctx, time.Duration(1+i)*100*time.Millisecond)
				p.askDrain(soon, t)
				leave()
			}
		})
	}
	p.rollOver(t, values, service)
	cancel()
	others.Wait()
	clients.end(t)
}

// askDrains sends the kubelet's request from a number of clients at once, which stay connected for a time.
func (p *proxy) askDrains(t testing.TB, gets int, stays time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), stays)
	defer cancel()
	var wait sync.WaitGroup
	for range gets {
		wait.Go(func() { p.askDrain(ctx, t) })
	}
	wait.Wait()
}

func (p *proxy) askDrain(ctx context.Context, t testing.TB) (answer string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Addr(t, "drain")+"/drain", http.NoBody)
	if err != nil {
		t.Error(err)
		return ""
	}
	r.Header.Set("x-supersonic-drain", "stop")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

// startHeldCalls keeps one held call waiting at all times, so that drains do not end early. The returned function stops
// the client, and returns how many calls were told that Envoy is shutting down.
func (p *proxy) startHeldCalls(t testing.TB) (stop func() (told int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	told := make(chan int, 1)
	go func() {
		n := 0
		for ctx.Err() == nil {
			if r := p.Client.Call(ctx, envoy.RepositoryIndex, nil); r.Message == shuttingDown {
				n++
			}
		}
		told <- n
	}()
	envoy.Await(t, settle, "a held call", func() bool { return p.cluster(t, "upstream_rq_active", "gate_wait") == 1 })
	return func() int {
		cancel()
		return <-told
	}
}

// holdsAgain waits until a call is held for longer than during a drain, then starts a replica.
func (p *proxy) holdsAgain(t testing.TB) {
	t.Helper()
	envoy.Await(t, 10*time.Second, "a call that is held again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return p.Client.Call(ctx, envoy.RepositoryIndex, nil).Code == codes.DeadlineExceeded
	})
	held := make(chan envoy.Reply, 1)
	go func() { held <- p.Client.Call(t.Context(), envoy.RepositoryIndex, nil) }()
	envoy.Await(t, settle, "a held call", func() bool { return p.cluster(t, "upstream_rq_active", "gate_wait") == 1 })
	p.Triton.Up(t)
	if r := <-held; r.Code != codes.OK {
		t.Errorf("a call held after the drain: %v %q", r.Code, r.Message)
	}
}

// keepsConnections waits until Envoy no longer asks clients to reconnect, soon after the last drain has ended.
func (p *proxy) keepsConnections(t testing.TB) {
	t.Helper()
	envoy.Await(t, 3*time.Second, "100 calls on one connection", func() bool { return p.reconnects(t, 100) == 0 })
}

// reconnects returns how many connections a client opens for its next calls.
func (p *proxy) reconnects(t testing.TB, calls int) float64 {
	t.Helper()
	connections := func() float64 {
		return p.Value(t, "envoy_http_downstream_cx_total", "envoy_http_conn_manager_prefix", "ingress_grpc")
	}
	before := connections()
	for range calls {
		p.infer(t, codes.OK)
	}
	return connections() - before
}

// A drain does not take the pod out of the Service.
func TestReadyWhileDraining(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {drain: {timeSeconds: 1, seconds: 5}}"})
	ended := make(chan bool)
	go func() { p.askDrains(t, 1, settle); close(ended) }()
	envoy.Await(t, settle, "clients that are asked to leave", func() bool { return p.reconnects(t, 5) > 1 })
	for range 100 {
		if status, _ := request(t, p.Addr(t, "stats"), "GET", "/ready"); status != http.StatusOK {
			t.Fatalf("readiness: %d", status)
		}
	}
	<-ended
}

// An Envoy that is short of memory also asks its clients to leave during a drain.
func TestDrainWhileOverloaded(t *testing.T) {
	p := start(t, envoy.ProxyOptions{
		Values: "envoy: {resources: {requests: {memory: 1M}, limits: {memory: 1M}}, drain: {timeSeconds: 1, seconds: 10}}",
	})
	envoy.Await(t, settle, "overload", func() bool {
		return p.Value(t, "envoy_overload_envoy_overload_actions_stop_accepting_requests_active") == 1
	})
	ended := make(chan bool)
	go func() { p.preStop(t); close(ended) }()
	envoy.Await(t, settle, "a failing health check", func() bool {
		_, body := request(t, p.Addr(t, "stats"), "GET", "/ready")
		return body == "server.live: 0\n"
	})
	<-ended
}

// Many requests for a drain ask the admin interface, which runs on Envoy's main thread, as rarely as one does.
func TestManyDrainsCostOne(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {drain: {timeSeconds: 1, seconds: 30}}"})
	p.infer(t, codes.OK)
	p.Triton.SetDelay(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.Client.Call(ctx, envoy.ModelInfer, nil)
	var others sync.WaitGroup
	for range 500 {
		others.Go(func() { p.askDrain(ctx, t) })
	}
	envoy.Await(t, settle, "500 drains", func() bool {
		return p.Value(t, "envoy_http_downstream_rq_active", "envoy_http_conn_manager_prefix", "drain") == 500
	})
	asked := func() float64 { return p.cluster(t, "upstream_rq_total", "supersonic_admin") }
	before, began := asked(), time.Now()
	envoy.Await(t, settle, "some questions", func() bool { return asked() >= before+100 })
	// Each of two workers reads the connections, fails the health check and restores it, four times a second.
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("100 questions within %s, want at most 24 a second", took)
	}
	cancel()
	others.Wait()
}

// Only the kubelet's request starts a drain; no other request does anything.
func TestDrainHook(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {drain: {timeSeconds: 1}}"})
	p.infer(t, codes.OK)
	const good = "x-supersonic-drain: stop\r\n"
	for _, target := range []string{"/drain", "/", "/drain_listeners", "/quitquitquit", "/stats", "/ready", "/leave"} {
		for _, method := range []string{"GET", "POST"} {
			p.drainIsNotFound(t, method, target, "")
		}
	}
	for _, method := range []string{"POST", "HEAD", "PUT", "DELETE", "OPTIONS"} {
		p.drainIsNotFound(t, method, "/drain", good)
	}
	for _, target := range []string{
		"/", "/leave", "/drain/", "//drain", "/Drain", "/%64rain", "/drain%2f", "/./drain", "/drain;x", "/healthcheck/fail",
		"/drain_listeners", "/quitquitquit", "http://x/leave",
	} {
		p.drainIsNotFound(t, "GET", target, good)
	}
	for _, header := range []string{
		"x-supersonic-drain: Stop\r\n", "x-supersonic-drain: \r\n", "x-supersonic-drain: stop, stop\r\n",
		"x-supersonic-drain: stop2\r\n", "x_supersonic_drain: stop\r\n", "x-drain-ms: 60000\r\n",
	} {
		p.drainIsNotFound(t, "GET", "/drain", header)
	}
	p.keepsConnections(t)
	if status, body := request(t, p.Addr(t, "drain"), "GET", "/drain?x=/leave", good, good); status != http.StatusOK || body != "drained\n" {
		t.Errorf("GET /drain?x=/leave with the header twice: %d %q", status, body)
	}
	p.keepsConnections(t)
}

func (p *proxy) drainIsNotFound(t testing.TB, method, target, header string) {
	t.Helper()
	if status, _ := request(t, p.Addr(t, "drain"), method, target, header); status != http.StatusNotFound && status != http.StatusBadRequest {
		t.Errorf("%s %s with %q: %d, want 404", method, target, header, status)
	}
}
