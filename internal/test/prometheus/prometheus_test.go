package prometheus

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// pods returns a Triton, an Envoy, and what must not be scraped: their other ports, and pods that have ended.
func pods(t *testing.T) []map[string]string {
	t.Helper()
	begun := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "nv_gpu_utilization{gpu_uuid=\"GPU-a\"} 0.5\nnv_cpu_utilization 0.25\n")
		served := time.Since(begun).Microseconds() * 3 // three requests are served at any time
		fmt.Fprintf(w, "nv_inference_request_duration_us{model=\"m\"} %d\nnv_inference_queue_duration_us{model=\"m\"} 0\n", served)
	})
	mux.HandleFunc("/stats/prometheus", func(w http.ResponseWriter, _ *http.Request) {
		const of = "{envoy_cluster_name=\"triton_grpc_service\"}"
		inFlight := time.Since(begun).Milliseconds() * 9
		fmt.Fprintf(w, "envoy_cluster_membership_healthy%s 2\nenvoy_cluster_upstream_rq_time_sum%s %d\n", of, of, inFlight)
		fmt.Fprintf(w, "envoy_cluster_upstream_rq_total%s %d\nenvoy_cluster_upstream_cx_none_healthy%s 0\n", of, inFlight/100, of)
		fmt.Fprintf(w, "envoy_cluster_upstream_rq_active%s 9\nenvoy_listener_downstream_cx_active{envoy_listener_address=\"clients\"} 40\n", of)
	})
	stub := httptest.NewServer(mux)
	t.Cleanup(stub.Close)
	pod := func(name, phase, port string) map[string]string {
		return map[string]string{
			"address": stub.Listener.Addr().String(), "pod_name": name, "pod_phase": phase,
			"pod_container_port_name": port, "namespace": "cms",
		}
	}
	return []map[string]string{
		pod("triton-0", "Running", "metrics"), pod("triton-0", "Running", "grpc"), pod("triton-1", "Succeeded", "metrics"),
		pod("envoy-0", "Running", "stats"), pod("envoy-0", "Running", "grpc"), pod("envoy-1", "Failed", "stats"),
	}
}

const embedded = `
prometheus:
  enabled: true
  server: {global: {scrape_interval: 1s, evaluation_interval: 1s}}
serverLoadRateInterval: 5s
metricsCollector: {enabled: true}
`

// Prometheus scrapes each running pod once, and records.
func TestScrapeAndRecord(t *testing.T) {
	s := start(t, embedded, pods(t))
	envoy.Await(t, limit, "the record of healthy replicas is 2", func() bool {
		return s.value(t, `supersonic:healthy_replicas{release="sonic",namespace="cms"}`) == "2"
	})
	var scraped []string
	for _, found := range s.targets(t) { // all of them, also those that are not scraped yet
		l := found.Labels
		scraped = append(scraped, strings.Join([]string{l["job"], l["pod"], l["namespace"], l["release"], l["app"]}, " "))
	}
	slices.Sort(scraped)
	want := []string{"sonic-envoy envoy-0 cms sonic supersonic", "sonic-triton triton-0 cms sonic supersonic"}
	if diff := cmp.Diff(want, scraped); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if got := status(t, http.MethodPost, "http://"+s.addr+"/api/v1/write"); got != http.StatusNotFound {
		t.Errorf("remote write is answered with %d, want 404: nobody asked for it", got)
	}
	if got := status(t, http.MethodPost, "http://"+s.addr+"/-/quit"); got != http.StatusForbidden {
		t.Errorf("quit is answered with %d, want 403", got)
	}
}

// TestNativeHistograms checks that a Prometheus that stores classic histograms as native ones reads the same load.
func TestNativeHistograms(t *testing.T) {
	begun := time.Now()
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		const of = `envoy_cluster_name="triton_grpc_service"`
		ended := time.Since(begun).Milliseconds() / 125 // eight requests of a second each are in flight
		fmt.Fprintf(w, "envoy_cluster_membership_healthy{%s} 2\n", of)
		fmt.Fprintf(w, "# TYPE envoy_cluster_upstream_rq_xx counter\n")
		fmt.Fprintf(w, "envoy_cluster_upstream_rq_xx{%s,envoy_response_code_class=\"2\"} %d\n", of, ended)
		fmt.Fprintf(w, "# TYPE envoy_cluster_upstream_rq_time histogram\n")
		for _, le := range []string{"1000", "2500", "+Inf"} {
			fmt.Fprintf(w, "envoy_cluster_upstream_rq_time_bucket{%s,le=%q} %d\n", of, le, ended)
		}
		fmt.Fprintf(w, "envoy_cluster_upstream_rq_time_sum{%s} %d\nenvoy_cluster_upstream_rq_time_count{%s} %d\n", of, 1000*ended, of, ended)
	}))
	t.Cleanup(stub.Close)
	s := start(t, embedded, []map[string]string{{
		"address": stub.Listener.Addr().String(), "pod_name": "envoy-0", "pod_phase": "Running",
		"pod_container_port_name": "stats", "namespace": "cms",
	}})
	s.edit(t, func(config map[string]any) {
		config["global"].(map[string]any)["convert_classic_histograms_to_nhcb"] = true
	})
	envoy.Await(t, limit, "the classic histogram is gone", func() bool {
		return s.value(t, "count(envoy_cluster_upstream_rq_time)") != "" &&
			s.value(t, "count_over_time(envoy_cluster_upstream_rq_time_sum[5s])") == ""
	})
	envoy.Await(t, limit, "8 requests are in flight", func() bool {
		needed, err := strconv.ParseFloat(s.value(t, `supersonic:needed_replicas{release="sonic",namespace="cms"}`), 64)
		return err == nil && needed > 7 && needed < 9
	})
}

// Prometheus reads a changed configuration.
func TestConfigReload(t *testing.T) {
	s := start(t, embedded, nil)
	s.edit(t, func(config map[string]any) {
		config["global"].(map[string]any)["external_labels"] = map[string]any{"changed": "yes"}
	})
	envoy.Await(t, limit, "the changed configuration is in use", func() bool {
		return strings.Contains(get(t, "http://"+s.addr+"/api/v1/status/config"), "changed: ")
	})
}

// Remote write is enabled if a component of the release writes.
func TestRemoteWriteReceiver(t *testing.T) {
	for name, test := range map[string]struct {
		values string
		want   bool
	}{
		"nobody":           {"", false},
		"tempo":            {"tempo: {enabled: true}", true},
		"tempo-without":    {"tempo: {enabled: true, tempo: {metricsGenerator: {enabled: false}}}", false},
		"tempo-to-another": {"tempo: {enabled: true, tempo: {metricsGenerator: {remoteWriteUrl: \"http://other:9090/api/v1/write\"}}}", false},
		"collector":        {"tempo: {enabled: true}\nopentelemetry-collector: {enabled: true}", true},
		"flag-of-0.3.1":    {"", true},
		"collector-elsewhere": {`
opentelemetry-collector:
  enabled: true
  config: {exporters: {otlp: {endpoint: "http://t:4317"}, prometheusremotewrite: {endpoint: "http://other/write"}}}
`, false},
	} {
		t.Run(name, func(t *testing.T) {
			flags := "[]"
			if name == "flag-of-0.3.1" {
				flags = "[web.enable-remote-write-receiver]"
			}
			m := manifest.Render(t, "prometheus: {enabled: true, server: {extraFlags: "+flags+"}}\n"+test.values)
			flagged := 0
			for _, arg := range container(t, m) {
				if arg == "--web.enable-remote-write-receiver" {
					flagged++
				}
			}
			if got := flagged == 1; got != test.want || flagged > 1 {
				t.Errorf("the flag is given %d times, want it: %t", flagged, test.want)
			}
		})
	}
}

// TestRecordEqualsQuery checks that the records have the values of the queries.
func TestRecordEqualsQuery(t *testing.T) {
	s := start(t, embedded, pods(t))
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Expr string }
		}
	}
	if err := yaml.Unmarshal([]byte(manifest.Data(t, s.manifests, "prometheus/configmap.yaml")["rules.yml"]), &rules); err != nil {
		t.Fatal(err)
	}
	const recorded = `{release="sonic",namespace="cms"}`
	envoy.Await(t, limit, "the load is measured", func() bool {
		text := s.value(t, "supersonic:needed_replicas"+recorded)
		return text != "" && text != "0"
	})
	compared := 0
	for _, r := range rules.Groups[0].Rules {
		// A scrape that began before the rule's evaluation may end after it, so the values are compared again.
		envoy.Await(t, limit, r.Record+" is what its query answers", func() bool {
			at := s.value(t, "timestamp("+r.Record+recorded+")")
			got, want := s.value(t, r.Record+recorded+" @ "+at), s.valueAt(t, r.Expr, at)
			return got != "" && got == want
		})
		compared++
	}
	if compared < 10 {
		t.Errorf("%d records are compared, want at least the terms and both queries", compared)
	}
}

// Prometheus answers on IPv4 and IPv6 with the chart's arguments, which do not set an address.
func TestPrometheusOnBothFamilies(t *testing.T) {
	if args := strings.Join(container(t, manifest.Render(t, embedded)), " "); strings.Contains(args, "listen-address") {
		t.Fatalf("the address is not Prometheus' own: %s", args)
	}
	s := startAt(t, "0.0.0.0:", embedded, pods(t)) // Prometheus' default, with another port than 9090
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, loopback := range []string{"127.0.0.1", "::1"} {
		if l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0")); err != nil {
			t.Skipf("this machine has no such address: %v", err)
		} else if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := status(t, http.MethodGet, "http://"+net.JoinHostPort(loopback, port)+"/-/ready"); got != http.StatusOK {
			t.Errorf("%s: %d", loopback, got)
		}
	}
}

// Releases that share a Prometheus have separate series.
func TestSharedPrometheus(t *testing.T) {
	found := pods(t)
	for i, pod := range found {
		pod["pod_label_app_kubernetes_io_instance"] = []string{"sonic", "sonic-b"}[i/3]
	}
	found[3]["pod_container_port_name"], found[3]["pod_name"] = "metrics", "triton-of-b"
	s := start(t, "prometheus: {enabled: true, server: {otherReleases: [sonic-b], global: {scrape_interval: 1s}}}", found)
	for _, release := range []string{"sonic", "sonic-b"} {
		envoy.Await(t, limit, "a Triton of "+release+" is scraped", func() bool {
			return s.value(t, `count(nv_gpu_utilization{namespace="cms",release="`+release+`"})`) == "1"
		})
	}
	config := manifest.File(t, s.manifests, "prometheus/configmap.yaml", "prometheus.yml")
	if !strings.Contains(config, "app.kubernetes.io/instance in (sonic,sonic-b)") {
		t.Errorf("the pods of sonic-b are not looked for:\n%s", config)
	}
}
