package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/envoytest"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/tools"
)

const limit = 60 * time.Second // for what takes a second or two

// A server is a running Prometheus with what the chart renders for it.
type server struct {
	addr, dir string
	manifests render.Manifests
}

// start runs Prometheus as its Deployment does. Pods come from pods, in place of Kubernetes.
func start(t *testing.T, values string, pods []map[string]string) *server {
	t.Helper()
	s := &server{addr: freeAddr(t), dir: t.TempDir(), manifests: rendered(t, values)}
	for name, text := range configMap(t, s.manifests, "prometheus/configmap.yaml") {
		s.write(t, name, strings.ReplaceAll(text, "/etc/prometheus/", s.dir+"/"))
	}
	s.edit(t, func(config map[string]any) {
		for _, job := range config["scrape_configs"].([]any) {
			job := job.(map[string]any)
			delete(job, "kubernetes_sd_configs")
			job["static_configs"] = static(pods)
		}
	})
	command := exec.Command(tools.Path(t, "prometheus"), s.arguments(t)...)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", log.String())
		}
	})
	envoytest.Await(t, limit, "Prometheus is ready", func() bool {
		answer, err := http.Get("http://" + s.addr + "/-/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return s
}

// static gives the pods the labels that Kubernetes' discovery would.
func static(pods []map[string]string) []any {
	var groups []any
	for _, pod := range pods {
		labels := map[string]any{}
		for name, value := range pod {
			if name != "address" {
				labels["__meta_kubernetes_"+name] = value
			}
		}
		groups = append(groups, map[string]any{"targets": []any{pod["address"]}, "labels": labels})
	}
	return groups
}

// arguments are those of the rendered container, with the test's folders.
func (s *server) arguments(t *testing.T) []string {
	t.Helper()
	args := append(container(t, s.manifests), "--web.listen-address="+s.addr)
	for i, arg := range args {
		args[i] = strings.NewReplacer("/etc/prometheus", s.dir, "=/data", "="+s.dir+"/data", "interval=10s", "interval=1s").Replace(arg)
	}
	return args
}

func container(t *testing.T, m render.Manifests) []string {
	t.Helper()
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct{ Args []string }
				}
			}
		}
	}
	text, _, _ := strings.Cut(m["prometheus/deployment.yaml"], "\n---\n")
	if err := yaml.Unmarshal([]byte(text), &deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template.Spec.Containers[0].Args
}

func rendered(t *testing.T, values string) render.Manifests {
	t.Helper()
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	vals := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &vals); err != nil {
		t.Fatal(err)
	}
	m, err := render.Chart(c, vals, render.Options{Release: "sonic", Namespace: "cms", Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// configMap gives the content of the first object of a template.
func configMap(t *testing.T, m render.Manifests, path string) map[string]string {
	t.Helper()
	text, _, _ := strings.Cut(m[path], "\n---\n")
	var object struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object.Data
}

func (s *server) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit changes the configuration file.
func (s *server) edit(t *testing.T, change func(map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	change(config)
	if text, err = yaml.Marshal(config); err != nil {
		t.Fatal(err)
	}
	s.write(t, "prometheus.yml", string(text))
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// result is a series of an answer of Prometheus.
type result struct {
	Metric map[string]string
	Value  [2]any
}

func (s *server) query(t *testing.T, expr string) []result {
	t.Helper()
	var answer struct{ Data struct{ Result []result } }
	if err := json.Unmarshal([]byte(get(t, "http://"+s.addr+"/api/v1/query?query="+url.QueryEscape(expr))), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Result
}

// value is the one value of an answer, empty if there is none.
func (s *server) value(t *testing.T, expr string) string {
	t.Helper()
	if results := s.query(t, expr); len(results) == 1 {
		return fmt.Sprint(results[0].Value[1])
	}
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func status(t *testing.T, method, url string) int {
	t.Helper()
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// pods are a Triton, an Envoy, and what must not be scraped: other ports of them, and pods that have ended.
func pods(t *testing.T) []map[string]string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "nv_gpu_utilization{gpu_uuid=\"GPU-a\"} 0.5\nnv_cpu_utilization 0.25\n")
	})
	mux.HandleFunc("/stats/prometheus", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "envoy_cluster_membership_healthy{envoy_cluster_name=\"triton_grpc_service\"} 2\n")
	})
	stub := httptest.NewServer(mux)
	t.Cleanup(stub.Close)
	pod := func(name, phase, port string) map[string]string {
		return map[string]string{"address": stub.Listener.Addr().String(), "pod_name": name, "pod_phase": phase, "pod_container_port_name": port, "namespace": "cms"}
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
metricsCollector: {enabled: true}
`

func TestPrometheusScrapesRunningPodsOnceAndRecords(t *testing.T) {
	s := start(t, embedded, pods(t))
	envoytest.Await(t, limit, "the record of healthy replicas is 2", func() bool {
		return s.value(t, `supersonic:healthy_replicas{release="sonic",namespace="cms"}`) == "2"
	})
	for job, pod := range map[string]string{"sonic-triton": "triton-0", "sonic-envoy": "envoy-0"} {
		up := s.query(t, fmt.Sprintf("up{job=%q}", job))
		if len(up) != 1 {
			t.Errorf("%s has targets %v, want one", job, up)
			continue
		}
		for label, want := range map[string]string{"pod": pod, "namespace": "cms", "release": "sonic", "app": "supersonic"} {
			if got := up[0].Metric[label]; got != want {
				t.Errorf("%s: label %s is %q, want %q", job, label, got, want)
			}
		}
	}
	if got := status(t, http.MethodPost, "http://"+s.addr+"/api/v1/write"); got != http.StatusNotFound {
		t.Errorf("remote write is answered with %d, want 404: nobody asked for it", got)
	}
	if got := status(t, http.MethodPost, "http://"+s.addr+"/-/quit"); got != http.StatusForbidden {
		t.Errorf("quit is answered with %d, want 403", got)
	}
}

func TestPrometheusReadsAChangedConfiguration(t *testing.T) {
	s := start(t, embedded, nil)
	s.edit(t, func(config map[string]any) {
		config["global"].(map[string]any)["external_labels"] = map[string]any{"changed": "yes"}
	})
	envoytest.Await(t, limit, "the changed configuration is in use", func() bool {
		return strings.Contains(get(t, "http://"+s.addr+"/api/v1/status/config"), "changed: ")
	})
}

func TestRemoteWriteIsOnWhereAPartOfTheReleaseWrites(t *testing.T) {
	for name, test := range map[string]struct {
		values string
		want   bool
	}{
		"nobody":              {"", false},
		"tempo":               {"tempo: {enabled: true}", true},
		"tempo-without":       {"tempo: {enabled: true, tempo: {metricsGenerator: {enabled: false}}}", false},
		"tempo-to-another":    {"tempo: {enabled: true, tempo: {metricsGenerator: {remoteWriteUrl: \"http://other:9090/api/v1/write\"}}}", false},
		"collector":           {"tempo: {enabled: true}\nopentelemetry-collector: {enabled: true}", true},
		"flag-of-0.3.1":       {"", true},
		"collector-elsewhere": {"opentelemetry-collector: {enabled: true, config: {exporters: {otlp: {endpoint: \"http://t:4317\"}, prometheusremotewrite: {endpoint: \"http://other/write\"}}}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			flags := "[]"
			if name == "flag-of-0.3.1" {
				flags = "[web.enable-remote-write-receiver]"
			}
			m := rendered(t, "prometheus: {enabled: true, server: {extraFlags: "+flags+"}}\n"+test.values)
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

func TestCollectorServesTheReleaseAndNothingElse(t *testing.T) {
	s := start(t, embedded, pods(t))
	envoytest.Await(t, limit, "a Triton is scraped", func() bool { return s.value(t, "nv_gpu_utilization") == "0.5" })
	e := envoytest.Start(t, envoytest.Options{
		Bootstrap: configMap(t, s.manifests, "collector/collector.yaml")["envoy.yaml"],
		Endpoints: map[string]string{"prometheus": s.addr},
	})
	at := "http://" + e.Addr(t, "metrics")
	if got := get(t, at+"/health"); got != "OK\n" {
		t.Errorf("/health says %q", got)
	}
	text := get(t, at+"/metrics?match[]=up")
	if !strings.Contains(text, `nv_gpu_utilization{`) || !strings.Contains(text, `release="sonic"`) || !strings.Contains(text, "nv_cpu_utilization") {
		t.Errorf("/metrics lacks the servers' series:\n%s", text)
	}
	if strings.Contains(text, "envoy_cluster") || strings.Contains(text, "\nup{") {
		t.Errorf("/metrics serves more than the servers' series:\n%s", text)
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
