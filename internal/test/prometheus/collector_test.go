package prometheus

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// The metrics collector serves the release's series and nothing else.
func TestCollector(t *testing.T) {
	s := start(t, embedded, pods(t))
	envoy.Await(t, limit, "a Triton is scraped", func() bool { return s.value(t, "nv_gpu_utilization") == "0.5" })
	e := envoy.Start(t, envoy.Options{
		Bootstrap: manifest.Data(t, s.manifests, "collector/collector.yaml")["envoy.yaml"],
		Endpoints: map[string]string{"prometheus": s.addr},
	})
	at := "http://" + e.Addr(t, "metrics")
	if got := get(t, at+"/health"); got != "OK\n" {
		t.Errorf("/health says %q", got)
	}
	text := get(t, at+"/metrics?match[]=up")
	for _, want := range []string{"nv_gpu_utilization{", `release="sonic"`, "nv_cpu_utilization"} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "envoy_cluster") || strings.Contains(text, "\nup{") {
		t.Errorf("/metrics serves more than the replicas' series:\n%s", text)
	}
	for _, path := range []string{"/", "/federate", "/api/v1/query?query=up", "/metrics/../api/v1/query", "/metricsx"} {
		if got := status(t, http.MethodGet, at+path); got != http.StatusNotFound {
			t.Errorf("GET %s is answered with %d, want 404", path, got)
		}
	}
	if got := status(t, http.MethodPost, at+"/metrics"); got != http.StatusNotFound {
		t.Errorf("POST /metrics is answered with %d, want 404", got)
	}
}
