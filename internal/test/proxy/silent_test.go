package proxy

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// Connections whose clients send nothing, or never complete the start of HTTP or TLS, are closed soon, which makes room for
// others. Clients that have started properly may be silent.
func TestSilentConnections(t *testing.T) {
	const number = 50
	for _, c := range []struct{ name, listener, values, says string }{
		{"nothing", "listener_grpc", "", ""},
		{"half-a-preface", "listener_grpc", "", http2.ClientPreface[:10]},
		{"half-a-line", "listener_grpc", "", "POST /inference.GRPCInferenceService/ModelInfer HT"},
		{"an-empty-line", "listener_grpc", "", "\r\n"},
		{"nothing-with-tls", "listener_grpc", withTLS, ""},
		{"half-a-hello", "listener_grpc", withTLS, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
		{"stats", "stats", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startLimited(t, number, c.values)
			thinking := connect(t, p.Addr(t, "listener_grpc"), 1)
			say(t, thinking, http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00") // and empty SETTINGS
			if c.values == "" {
				envoy.Await(t, settle, "a client that thinks", func() bool {
					return p.Value(t, "envoy_http_downstream_cx_active", "envoy_http_conn_manager_prefix", "ingress_grpc") == 1
				})
			}
			silent := connect(t, p.Addr(t, c.listener), 2*number)
			say(t, silent, c.says)
			envoy.Await(t, settle, "room for others", func() bool { return closed(silent) == len(silent) })
			if c.values == "" && closed(thinking) > 0 {
				t.Error("a client that thinks was cut off")
			}
		})
	}
}

// Connections whose clients send a byte now and then are closed as well.
func TestDrippingConnections(t *testing.T) {
	p := startLimited(t, 50, "")
	dripping := connect(t, p.Addr(t, "listener_grpc"), 50)
	go func() {
		for i := range http2.ClientPreface {
			for _, conn := range dripping {
				_, _ = conn.Write([]byte{http2.ClientPreface[i]})
			}
			select {
			case <-t.Context().Done():
				return
			case <-time.After(2 * time.Second):
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	envoy.Await(t, settle, "a call of another client", func() bool {
		return envoy.Dial(t, p.Addr(t, "listener_grpc")).Call(ctx, envoy.ModelInfer, nil).Code == codes.OK
	})
}

const withTLS = "tls: {enabled: true, secretName: certificate}"

// startLimited runs an Envoy that accepts at most a number of connections.
func startLimited(t *testing.T, connections int, values string) *proxy {
	t.Helper()
	p := &proxy{envoy.NewProxy(t, "envoy: {maxConnections: "+strconv.Itoa(connections)+", "+values+"}")}
	certificate, key := envoy.NewAuthority(t).Files(t, "sonic.example.org", 1)
	envoy.Mount(t, filepath.Join(p.Dir, "secrets", "tls"), map[string]string{"tls.crt": certificate, "tls.key": key})
	p.Run(t, envoy.ProxyOptions{})
	return p
}

// say sends the same text on each connection; Envoy may have closed some.
func say(t testing.TB, conns []net.Conn, text string) {
	t.Helper()
	for _, conn := range conns {
		_, _ = conn.Write([]byte(text))
	}
}
