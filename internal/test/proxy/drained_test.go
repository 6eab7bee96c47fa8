package proxy

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// A drain that no stop follows, which any pod that reaches the port can start, ends by itself: clients keep their
// connections again, and calls are held.
func TestDrainWithoutStop(t *testing.T) {
	for name, attack := range map[string]func(*proxy, *testing.T){
		"once":          func(p *proxy, t *testing.T) { p.preStop(t) },
		"twice":         func(p *proxy, t *testing.T) { p.preStop(t); p.preStop(t) },
		"caller-leaves": (*proxy).startDrain,
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, envoy.ProxyOptions{Values: "envoy: {hold: {enabled: true}, drain: {timeSeconds: 1, seconds: 3}}"})
			p.infer(t, codes.OK)
			attack(p, t)
			envoy.Await(t, settle, "clients that are told to reconnect", func() bool { return p.reconnects(t) })
			envoy.Await(t, settle, "clients that keep their connections", func() bool { return !p.reconnects(t) })
			p.Triton.Down()
			p.awaitHealthy(t, 0)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if r := p.Client.Call(ctx, envoy.RepositoryIndex, nil); r.Code != codes.DeadlineExceeded {
				t.Errorf("a call while no replica is ready: %v %q, want it to wait", r.Code, r.Message)
			}
		})
	}
}

// startDrain calls the hook and leaves before its answer.
func (p *proxy) startDrain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Addr(t, "drain")+"/drain", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-supersonic-drain", "stop")
	if response, err := http.DefaultClient.Do(r); err == nil {
		body, _ := io.ReadAll(response.Body)
		t.Errorf("the hook has answered: %d %q", response.StatusCode, body)
	}
}

// reconnects reports whether clients open a connection for each call.
func (p *proxy) reconnects(t *testing.T) bool {
	t.Helper()
	before := p.connections(t)
	for range 5 {
		p.infer(t, codes.OK)
	}
	return p.connections(t) > before
}

// connections is the number of connections that clients have ever made.
func (p *proxy) connections(t *testing.T) float64 {
	t.Helper()
	return p.Value(t, "envoy_http_downstream_cx_total", "envoy_http_conn_manager_prefix", "ingress_grpc")
}
