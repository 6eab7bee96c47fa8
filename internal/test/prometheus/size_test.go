package prometheus

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// bigFleet returns the pods of a number of replicas with 20 models each, and of two Envoys, as targets of a Prometheus.
// Every replica exports the same 276 series, as many as Triton 2.51 exports with one GPU.
func bigFleet(t testing.TB, replicas int) []map[string]string {
	t.Helper()
	begun := time.Now()
	var page atomic.Pointer[string]
	written := make(chan struct{})
	go func() {
		for first := true; t.Context().Err() == nil; first = false {
			text := tritonPage(int(time.Since(begun).Milliseconds()))
			page.Store(&text)
			if first {
				close(written)
			}
			time.Sleep(time.Second)
		}
	}()
	<-written
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, *page.Load()) })
	mux.HandleFunc("/stats/prometheus", func(w http.ResponseWriter, _ *http.Request) {
		envoyPage(w, replicas, int(time.Since(begun).Milliseconds()))
	})
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	stub := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}}
	stub.Start()
	t.Cleanup(stub.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	var all []map[string]string
	add := func(name, portName string, i int) {
		all = append(all, map[string]string{
			"address": fmt.Sprintf("127.0.%d.%d:%s", 1+i/250, 1+i%250, port), "pod_name": fmt.Sprintf("%s-%d", name, i),
			"pod_phase": "Running", "pod_container_port_name": portName, "namespace": "cms",
		})
	}
	for i := range replicas {
		add("triton", "metrics", i)
	}
	for i := range 2 {
		add("envoy", "stats", i)
	}
	return all
}

// tritonPage returns the metrics of a replica that always serves two requests.
func tritonPage(elapsed int) string {
	var w strings.Builder
	for m := range 20 {
		of := fmt.Sprintf(`{model="model-%d",version="1"}`, m)
		for _, name := range []string{"count", "exec_count", "request_success"} {
			fmt.Fprintf(&w, "nv_inference_%s%s %d\n", name, of, elapsed/100)
		}
		for _, reason := range []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} {
			fmt.Fprintf(&w, "nv_inference_request_failure{model=\"model-%d\",version=\"1\",reason=%q} 0\n", m, reason)
		}
		for _, name := range []string{"request", "queue", "compute_input", "compute_infer", "compute_output"} {
			fmt.Fprintf(&w, "nv_inference_%s_duration_us%s %d\n", name, of, elapsed*100*len(name)/len("request"))
		}
		fmt.Fprintf(&w, "nv_inference_pending_request_count%s 0\n", of)
	}
	for _, name := range []string{
		"gpu_utilization", "gpu_memory_total_bytes", "gpu_memory_used_bytes", "gpu_power_usage", "gpu_power_limit", "energy_consumption",
	} {
		fmt.Fprintf(&w, "nv_%s{gpu_uuid=\"GPU-2d0b5a4c-1d3c-4b52-9d5a-0d6a3f1c7e11\"} %d\n", name, elapsed)
	}
	for _, name := range []string{
		"cpu_utilization", "cpu_memory_total_bytes", "cpu_memory_used_bytes", "pinned_memory_pool_total_bytes", "pinned_memory_pool_used_bytes",
	} {
		fmt.Fprintf(&w, "nv_%s %d\n", name, elapsed)
	}
	return w.String()
}

// envoyPage returns the metrics of an Envoy with three requests in flight for each replica, as far as rules read them.
func envoyPage(w http.ResponseWriter, replicas, elapsed int) {
	const of = `envoy_cluster_name="triton_grpc_service"`
	requests := elapsed / 100 * replicas
	fmt.Fprintf(w, "envoy_cluster_membership_healthy{%s} %d\n", of, replicas)
	fmt.Fprintf(w, "envoy_cluster_upstream_rq_time_sum{%s} %d\n", of, elapsed*3*replicas)
	fmt.Fprintf(w, "envoy_cluster_upstream_rq_total{%s} %d\nenvoy_cluster_upstream_rq_completed{%s} %d\n", of, requests, of, requests)
	fmt.Fprintf(w, "envoy_cluster_upstream_rq_xx{%s,envoy_response_code_class=\"2\"} %d\n", of, requests)
	fmt.Fprintf(w, "envoy_cluster_upstream_cx_none_healthy{%s} 0\nenvoy_cluster_upstream_rq_active{%s} %d\n", of, of, 3*replicas)
}

// BenchmarkReplicas measures what the embedded Prometheus needs to scrape and record a number of replicas, and the time
// of the slowest rule and of KEDA's query.
func BenchmarkReplicas(b *testing.B) {
	for _, replicas := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(replicas), func(b *testing.B) {
			for b.Loop() {
				measure(b, replicas)
			}
		})
	}
}

func measure(b *testing.B, replicas int) {
	s := start(b, "prometheus: {enabled: true}\nkeda: {enabled: true}\n", bigFleet(b, replicas))
	const ratio = `supersonic:occupancy_ratio{release="sonic",namespace="cms"}`
	envoy.Await(b, 5*time.Minute, "the ratio is known", func() bool { return s.value(b, ratio) != "" })
	const watched = time.Minute
	before := s.cpu(b)
	time.Sleep(watched)
	b.ReportMetric((s.cpu(b)-before)/watched.Seconds(), "cores")
	b.ReportMetric(s.own(b, "prometheus_tsdb_head_series"), "series")
	b.ReportMetric(s.number(b, `avg(scrape_duration_seconds)`)*1e3, "scrape-ms")
	b.ReportMetric(s.number(b, "sum(up)"), "up")
	resident := s.resident(b)
	b.ReportMetric(resident, "MiB")
	pod := manifest.Object[appsv1.Deployment](b, s.manifests, "prometheus/deployment.yaml").Spec.Template.Spec
	if limit := float64(pod.Containers[0].Resources.Limits.Memory().Value()) / (1 << 20); resident > limit/2 {
		b.Errorf("Prometheus takes %.0f MiB, want at most half of its limit of %.0f MiB, as a fleet that changes takes more", resident, limit)
	}
	needed, all := s.rules(b)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	s.edit(b, func(config map[string]any) { delete(config, "scrape_configs"); delete(config, "rule_files") })
	envoy.Await(b, limit, "Prometheus scrapes nothing", func() bool {
		return !strings.Contains(get(b, "http://"+s.addr+"/api/v1/status/config"), "job_name")
	})
	b.ReportMetric(s.cost(b, at, needed)*1e3, "needed-cpu-ms")
	b.ReportMetric(s.cost(b, at, all...)*1e3, "rules-cpu-ms")
}

func (s *server) number(b *testing.B, expr string) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(s.value(b, expr), 64)
	if err != nil {
		b.Fatalf("%s: %v", expr, err)
	}
	return n
}

// cost returns the CPU time, in seconds, that Prometheus takes to answer all queries once.
func (s *server) cost(b *testing.B, at string, queries ...string) float64 {
	b.Helper()
	const times = 5
	before := s.cpu(b)
	for range times {
		for _, query := range queries {
			s.queryAt(b, query, at)
		}
	}
	return (s.cpu(b) - before) / times
}

// rules returns KEDA's query, and the queries of all rules. Each must evaluate without an error.
func (s *server) rules(b *testing.B) (needed string, all []string) {
	b.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Query, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal([]byte(get(b, "http://"+s.addr+"/api/v1/rules")), &answer); err != nil {
		b.Fatal(err)
	}
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				b.Errorf("%s: %s %s", rule.Name, rule.Health, rule.LastError)
			}
			if all = append(all, rule.Query); rule.Name == "supersonic:needed_replicas" {
				needed = rule.Query
			}
		}
	}
	return needed, all
}

// own returns a metric that Prometheus exports about itself.
func (s *server) own(b *testing.B, name string) float64 {
	b.Helper()
	for line := range strings.Lines(get(b, "http://"+s.addr+"/metrics")) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("Prometheus exports no %s", name)
	return 0
}

func (s *server) cpu(b *testing.B) float64 { return s.own(b, "process_cpu_seconds_total") }

// resident returns the resident memory of Prometheus, in MiB, without mapped files.
func (s *server) resident(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes / 1024
}
