package gate_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// refusing returns a gate whose load is above the threshold.
func refusing(t *testing.T) *gate.Gate {
	t.Helper()
	return gate.StartAt(t, gate.Defaults().Limiter("cacheSeconds", 60), "5")
}

// post sends a request over plain HTTP/2, as any client could.
func post(t *testing.T, g *gate.Gate, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.Listener(t)+path,
		strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// A refusal has only trailers: one block of headers, without a body.
func TestRefusalOnTheWire(t *testing.T) {
	g := refusing(t)
	for _, contentType := range []string{"application/grpc", "application/grpc+proto"} {
		r, body := post(t, g, envoy.RepositoryIndex, map[string]string{"content-type": contentType, "te": "trailers"})
		if r.StatusCode != 200 || r.Header.Get("grpc-status") != "8" || body != "" || len(r.Trailer) != 0 {
			t.Errorf("%s: status %d, header %v, body %q, trailer %v", contentType, r.StatusCode, r.Header, body, r.Trailer)
		}
		if got := r.Header.Get("grpc-message"); got != "overloaded: load 5 is above the admission threshold 3, try again later" {
			t.Errorf("%s: message %q", contentType, got)
		}
	}
	if calls := g.Triton.Calls(envoy.RepositoryIndex); calls != 0 {
		t.Errorf("%d refused calls reached Triton", calls)
	}
}

// A request that is not gRPC is answered before the gate, which does not count it.
func TestOtherProtocols(t *testing.T) {
	g := refusing(t)
	before := g.Outcomes(t)["refused"]
	for _, contentType := range []string{"application/grpc-web+proto", "application/json", "text/plain"} {
		r, body := post(t, g, envoy.RepositoryIndex, map[string]string{"content-type": contentType})
		if r.StatusCode != 404 {
			t.Errorf("%s: status %d, body %q; want 404", contentType, r.StatusCode, body)
		}
	}
	if n := g.Outcomes(t)["refused"]; n != before {
		t.Errorf("%v refusals, want the %v of before", n, before)
	}
}

// Every spelling of the path that reaches the method is guarded, and no other path.
func TestGuardedPaths(t *testing.T) {
	g := refusing(t)
	for path, guarded := range map[string]bool{
		envoy.RepositoryIndex:           true,
		envoy.RepositoryIndex + "?a=b":  true,
		"/x/.." + envoy.RepositoryIndex: true,
		envoy.ModelInfer:                false,
		envoy.ServerReady:               false,
		envoy.HealthCheck:               false,
	} {
		r, _ := post(t, g, path, map[string]string{"content-type": "application/grpc", "te": "trailers"})
		if got := r.Header.Get("grpc-status") == "8"; got != guarded {
			t.Errorf("%s: guarded %v, want %v", path, got, guarded)
		}
	}
}

// Clients can't reach the internal listeners.
func TestInternalPaths(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().With("envoy.hold.enabled", true).Limiter("cacheSeconds", 60), "0")
	for _, path := range []string{"/load", "/probe", "/stop"} {
		r, body := post(t, g, path, map[string]string{"content-type": "application/grpc", "te": "trailers"})
		if r.Header.Get("grpc-status") != "12" && r.Trailer.Get("grpc-status") != "12" {
			t.Errorf("%s: %v %v %q, want UNIMPLEMENTED", path, r.Header, r.Trailer, body)
		}
	}
	if queries := len(g.Prometheus.Queries()); queries != 1 {
		t.Errorf("%d queries, want only that of the clock", queries)
	}
}

// A message of 3 MB passes the gate.
func TestLargeMessagePasses(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("methods", []any{envoy.ModelInfer}), "1")
	for range 2 {
		if r := g.Client.Call(t.Context(), envoy.ModelInfer, make([]byte, 3<<20)); r.Code != codes.OK {
			t.Errorf("%v %q", r.Code, r.Message)
		}
	}
	if n := g.Outcomes(t)["allowed"]; n != 2 {
		t.Errorf("outcomes %v", g.Outcomes(t))
	}
}

func TestLargeHeader(t *testing.T) {
	g := gate.Start(t, gate.Defaults())
	if r := g.Client.Call(t.Context(), envoy.RepositoryIndex, nil, "x-large", strings.Repeat("a", 40<<10)); r.Code != codes.OK {
		t.Errorf("40 KiB: %v %q", r.Code, r.Message)
	}
	if r := g.Client.Call(t.Context(), envoy.RepositoryIndex, nil, "x-large", strings.Repeat("a", 100<<10)); r.Code == codes.OK {
		t.Error("100 KiB: passes")
	}
	if r := g.Index(t.Context()); r.Code != codes.OK {
		t.Errorf("the call after it: %v %q", r.Code, r.Message)
	}
	for name, value := range map[string]string{"x-quote": `"]]==]' .. os.exit() .. [[`, "x-percent": "%s%d%41", "x-utf8": "é日本"} {
		if r := g.Client.Call(t.Context(), envoy.RepositoryIndex, nil, name+"-bin", value); r.Code != codes.OK {
			t.Errorf("%s: %v %q", name, r.Code, r.Message)
		}
	}
}

// An answer of 20 MB makes the load unknown, and has no other effect.
func TestHugeAnswer(t *testing.T) {
	g := gate.New(t, gate.Defaults().Limiter("cacheSeconds", 60))
	huge := envoy.Sample("9")
	huge.Body = strings.Replace(huge.Body, "{}", `{"a":"`+strings.Repeat("x", 20<<20)+`"}`, 1)
	g.Prometheus.Set(huge)
	g.Run(t)
	envoy.Await(t, gate.Patience, "an answer", func() bool { return g.Answered(t) > 0 })
	if r := g.Index(t.Context()); r.Code != codes.OK {
		t.Errorf("%v %q", r.Code, r.Message)
	}
	if answers := g.Answers(t); answers["too_long"]+answers["http_error"] != 1 {
		t.Errorf("answers %v", answers)
	}
}

// Every counter exists before the first call.
func TestCountersFromStart(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().Limiter("cacheSeconds", 60), "0")
	for label, values := range map[string][]string{
		"outcome": {
			"allowed", "refused", "unknown_allowed", "unknown_refused", "fault_allowed", "fault_refused", "held",
			"hold_expired", "hold_full", "hold_stopped",
		},
		"answer": {
			"load", "empty", "several", "not_finite", "malformed", "too_long", "error_status", "http_error",
			"no_credentials", "fault",
		},
	} {
		for _, value := range values {
			n := g.Value(t, "envoy_http_lua_gate_"+label, label, value, "envoy_http_conn_manager_prefix", "ingress_grpc")
			if n != 0 && value != "load" {
				t.Errorf("%s %s: %v", label, value, n)
			}
		}
	}
}

// Calls without a token are rejected before the gate.
func TestAuthenticationComesFirst(t *testing.T) {
	g := gate.StartAt(t, gate.Defaults().With("envoy.auth", map[string]any{
		"enabled": true, "jwt_issuer": "https://issuer.test", "jwt_remote_jwks_uri": "https://127.0.0.1:1/keys",
	}), "5")
	for range 10 {
		if r := g.Index(t.Context()); r.Code != codes.Unauthenticated {
			t.Errorf("%v %q, want UNAUTHENTICATED", r.Code, r.Message)
		}
	}
	if outcomes := g.Outcomes(t); len(outcomes) != 0 {
		t.Errorf("callers without a token count as %v", outcomes)
	}
}
