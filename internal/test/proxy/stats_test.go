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

// request sends one HTTP/1.1 request as it is written, and gives the status, 0 for a closed connection, and the body.
func request(t testing.TB, addr, method, target string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method, target); err != nil {
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

func TestStatsListenerServesStatsAndReadinessAndNothingElse(t *testing.T) {
	p := Start(t, Options{})
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
	if status, body := request(t, stats, "GET", "/ready"); status != http.StatusOK || body != "LIVE\n" {
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

// Envoy's admin interface can stop it: only the pod itself reaches it, and no Service leads to it or to the drain hook.
func TestAdminIsNotReachableFromOutside(t *testing.T) {
	old := `envoy: {service: {ports: [{name: grpc, port: 8001, targetPort: 8001}, {name: admin, port: 9901, targetPort: 9911}]}}`
	for name, values := range map[string]string{"default": "", "earlier-values": old} {
		t.Run(name, func(t *testing.T) {
			p := &Plane{Manifests: Render(t, values), dir: t.TempDir()}
			if config := p.Manifests["envoy/configmap.yaml"]; !strings.Contains(config, "admin:\n      address: {socket_address: {address: 127.0.0.1,") {
				t.Errorf("the admin interface is not on loopback:\n%.400s", config)
			}
			var published []string
			for _, port := range p.Service(t).Spec.Ports {
				published = append(published, port.Name)
			}
			if len(published) != 1 || published[0] != "grpc" {
				t.Errorf("the Service publishes %q, want grpc alone", published)
			}
		})
	}
}

func TestStatsPortFollowsAnAdminEntryOfEarlierValues(t *testing.T) {
	p := &Plane{Manifests: Render(t, `envoy: {service: {ports: [{name: grpc, port: 80, targetPort: 8005}, {name: admin, port: 1, targetPort: 9911}]}}`)}
	got := map[string]int32{}
	for _, port := range p.Container(t).Ports {
		got[port.Name] = port.ContainerPort
	}
	if got["stats"] != 9911 || got["grpc"] != 8005 {
		t.Errorf("container ports: %v, want stats 9911 and grpc 8005", got)
	}
	port := p.Service(t).Spec.Ports[0]
	if port.Port != 80 || port.TargetPort.IntValue() != 8005 {
		t.Errorf("Service port: %d to %s, want 80 to 8005", port.Port, port.TargetPort.String())
	}
}
