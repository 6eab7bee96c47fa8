package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// request sends an HTTP/1.1 request exactly as written, with the given header lines. It returns the status, 0 for a closed
// connection, and the body.
func request(t testing.TB, addr, method, target string, header ...string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method, target, strings.Join(header, ""))
	if _, err := conn.Write([]byte(head)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// The stats listener serves stats and readiness and nothing else.
func TestStatsListener(t *testing.T) {
	p := start(t, envoy.ProxyOptions{})
	stats := p.Addr(t, "stats")
	for _, target := range []string{
		"/quitquitquit", "/config_dump", "/stats", "/", "//quitquitquit", "/ready/../quitquitquit", "/ready%2f..%2fstats",
		"/stats/prometheus/", "/readyx", "/healthcheck/fail", "/drain_listeners", "/logging", "/certs", "/drain",
	} {
		for _, method := range []string{"GET", "POST"} {
			if status, _ := request(t, stats, method, target); status != http.StatusNotFound && status != http.StatusBadRequest {
				t.Errorf("%s %s: %d, want 404", method, target, status)
			}
		}
	}
	for _, target := range []string{"/stats/prometheus", "/ready"} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			if status, _ := request(t, stats, method, target); status != http.StatusNotFound {
				t.Errorf("%s %s: %d, want 404", method, target, status)
			}
		}
	}
	if status, body := request(t, stats, "GET", "/ready"); status != http.StatusOK || body != "server.live: 1\n" {
		t.Errorf("GET /ready: %d %q", status, body)
	}
	status, body := request(t, stats, "GET", "/stats/prometheus")
	if status != http.StatusOK || !strings.Contains(body, `envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service"}`) {
		t.Errorf("GET /stats/prometheus: %d without triton_grpc_service's membership_healthy", status)
	}
	if r := p.Client.Call(t.Context(), envoy.ServerLive, nil); r.Code != 0 {
		t.Errorf("ServerLive after all that: %v %s", r.Code, r.Message)
	}
}
