package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// connect opens connections that send nothing, and keeps them until the test ends.
func connect(t testing.TB, addr string, number int) []net.Conn {
	t.Helper()
	var open []net.Conn
	for range number {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		open = append(open, conn)
	}
	return open
}

// closed counts the connections that Envoy has closed.
func closed(conns []net.Conn) int {
	n := 0
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := io.Copy(io.Discard, conn); !isTimeout(err) {
			n++
		}
	}
	return n
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// Connections beyond the limit are closed, and the stats stay reachable.
func TestConnectionLimit(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {maxConnections: 20}"})
	conns := connect(t, p.Addr(t, "listener_grpc"), 50)
	say(t, conns, http2.ClientPreface)
	envoy.Await(t, settle, "30 closed connections", func() bool { return closed(conns) == 30 })
	if status, _ := request(t, p.Addr(t, "stats"), "GET", "/ready"); status != http.StatusOK {
		t.Errorf("readiness while Envoy is full: %d", status)
	}
	if got := p.Value(t, "envoy_http_downstream_cx_active", "envoy_http_conn_manager_prefix", "ingress_grpc"); got != 20 {
		t.Errorf("open connections: %v, want 20", got)
	}
}

// The rate of new connections is limited.
func TestConnectionRate(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: `
envoy: {rate_limiter: {listener_level: {enabled: true, max_tokens: 5, tokens_per_fill: 1, fill_interval: 600s}}}`})
	conns := connect(t, p.Addr(t, "listener_grpc"), 12)
	envoy.Await(t, settle, "7 closed connections", func() bool { return closed(conns) == 7 })
	if got := p.Value(t, "envoy_listener_local_ratelimit_rate_limited"); got != 7 {
		t.Errorf("limited connections: %v, want 7", got)
	}
}

// A client that sends its headers byte by byte, or too many of them, blocks nothing.
func TestHeaderLimits(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {maxRequestHeadersKb: 16}"})
	p.infer(t, codes.OK)
	fits := strings.Repeat("x", 8<<10)
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil, "x-note", fits); r.Code != codes.OK {
		t.Errorf("8 KiB of headers: %v %s", r.Code, r.Message)
	}
	before := p.Triton.Calls(envoy.ModelInfer)
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil, "x-note", fits+fits+fits); r.Code == codes.OK {
		t.Error("24 KiB of headers were accepted")
	}
	if p.Triton.Calls(envoy.ModelInfer) != before {
		t.Error("24 KiB of headers reached Triton")
	}
	conn := connect(t, p.Addr(t, "listener_grpc"), 1)[0]
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(2 * settle))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("headers that do not end: %v, want a 408", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("headers that do not end: %d, want 408", response.StatusCode)
	}
}

// Ten thousand calls pass at once. Envoy's own defaults would refuse those beyond 1,024.
func TestTenThousandCallsAtOnce(t *testing.T) {
	const connections, each = 4, 2500
	p := start(t, envoy.ProxyOptions{})
	p.infer(t, codes.OK)
	p.Triton.SetDelay(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 4*settle)
	defer cancel()
	failed := make(chan string, connections*each)
	var wait sync.WaitGroup
	for range connections {
		client := envoy.Dial(t, p.Addr(t, "listener_grpc"))
		for range each {
			wait.Go(func() {
				if r := client.Call(ctx, envoy.ModelInfer, nil); r.Code != codes.OK {
					failed <- fmt.Sprintf("%v %s", r.Code, r.Message)
				}
			})
		}
	}
	envoy.Await(t, 3*settle, "10,000 calls at once", func() bool {
		return len(failed) > 0 || p.cluster(t, "upstream_rq_active", service) == connections*each
	})
	p.Triton.Release()
	wait.Wait()
	close(failed)
	if len(failed) > 0 {
		t.Errorf("%d of %d calls failed, the first with %s", len(failed), connections*each, <-failed)
	}
}

// Messages larger than any buffer of Envoy pass.
func TestLargeMessages(t *testing.T) {
	p := start(t, envoy.ProxyOptions{})
	p.infer(t, codes.OK)
	message := make([]byte, 32<<20)
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, message); r.Code != codes.OK {
		t.Errorf("a call with 32 MiB: %v %s", r.Code, r.Message)
	}
}

func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		name, values string
		want         codes.Code
	}{
		{"no-limit", "", codes.OK},
		{"route-timeout", "envoy: {grpc_route_timeout: 0.5s}", codes.Unavailable},
		{"stream-idle-timeout", "envoy: {streamIdleTimeout: 0.5s}", codes.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, envoy.ProxyOptions{Values: c.values})
			p.infer(t, codes.OK)
			p.Triton.SetDelay(2 * time.Second)
			if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != c.want {
				t.Errorf("a call of 2 s: %v %s, want %v", r.Code, r.Message, c.want)
			}
		})
	}
}

// Envoy obeys some x-envoy headers, which are removed from clients' calls.
func TestSteeringHeaders(t *testing.T) {
	p := start(t, envoy.ProxyOptions{})
	p.infer(t, codes.OK)
	p.Triton.SetDelay(500 * time.Millisecond)
	for _, header := range [][]string{
		{"x-envoy-upstream-rq-timeout-ms", "1"},
		{"x-envoy-upstream-rq-per-try-timeout-ms", "1"},
		{"x-envoy-expected-rq-timeout-ms", "1"},
	} {
		if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil, header...); r.Code != codes.OK {
			t.Errorf("a call with %s: %v %s", header[0], r.Code, r.Message)
		}
	}
	if got := p.cluster(t, "upstream_rq_timeout", service); got != 0 {
		t.Errorf("timeouts: %v, want 0", got)
	}
}
