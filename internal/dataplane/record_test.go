package dataplane

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fastmachinelearning/supersonic/internal/envoytest"
	"github.com/fastmachinelearning/supersonic/internal/tools"
)

var record = flag.Bool("record", false, "take two minutes, and write "+recording)

// recording is what a real Envoy and a real Triton exported under load, as a
// load command of promqltest.
const recording = "testdata/recorded.test"

const (
	recordInterval = 5 * time.Second
	recordScrapes  = 25
)

// TestRecordingIsOfTheSameSeries runs the real parts and holds that they export what the recording has, on which the
// dashboards are evaluated. With -record it writes the recording.
func TestRecordingIsOfTheSameSeries(t *testing.T) {
	interval, scrapes := time.Second, 3
	if *record {
		interval, scrapes = recordInterval, recordScrapes
	}
	grpcAddr, metricsURL := startTriton(t)
	p := &Plane{
		Manifests:  Render(t, "prometheus: {enabled: true}\nenvoy: {rate_limiter: {prometheus_based: {enabled: true}}}"),
		Triton:     &envoytest.Triton{Addr: grpcAddr},
		Prometheus: envoytest.StartPrometheus(t),
		dir:        t.TempDir(),
	}
	p.Run(t, Options{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() { callBothModels(ctx, p.Client, i) })
	}
	r := &recorder{values: map[string][]string{}}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for range scrapes {
		<-ticks.C
		r.scrape(t, metricsURL, "triton-0")
		r.scrape(t, p.statsURL(t), "envoy-0")
		r.scrapes++
	}
	stop()
	clients.Wait()
	if *record {
		if err := os.WriteFile(recording, r.text(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(recordedNames(t), r.names()); diff != "" {
		t.Errorf("series (-recorded +exported):\n%s", diff)
	}
}

// recordedNames are the metrics of the recording.
func recordedNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{values: map[string][]string{}}
	for line := range strings.Lines(string(text)) {
		if series, ok := strings.CutPrefix(line, "  "); ok {
			r.values[series] = nil
		}
	}
	return r.names()
}

func (p *Plane) statsURL(t *testing.T) string {
	return "http://" + p.Addr(t, "stats") + "/stats/prometheus"
}

// startTriton runs the real one with the models of testdata.
func startTriton(t *testing.T) (grpcAddr, metricsURL string) {
	t.Helper()
	grpcAddr = "127.0.0.1:" + freePort(t)
	_, metricsURL = runTriton(t, grpcAddr)
	return grpcAddr, metricsURL
}

// runTriton runs a server at an address of loopback, until the test ends or sooner.
func runTriton(t *testing.T, grpcAddr string) (server *exec.Cmd, metricsURL string) {
	t.Helper()
	models := t.TempDir() // Python writes beside the models
	if err := os.CopyFS(models, os.DirFS("testdata/models")); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(grpcAddr)
	if err != nil {
		t.Fatal(err)
	}
	httpPort, metricsPort := freePort(t), freePort(t)
	server = exec.Command(tools.Path(t, "tritonserver"), "--model-repository="+models, "--allow-gpu-metrics=false",
		"--grpc-address="+host, "--grpc-port="+port, "--http-address="+host, "--http-port="+httpPort,
		"--metrics-address="+host, "--metrics-port="+metricsPort, "--exit-timeout-secs=2")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if server.ProcessState == nil {
			_ = server.Process.Signal(os.Interrupt)
			_ = server.Wait()
		}
		if t.Failed() {
			t.Logf("Triton says:\n%s", log.String())
		}
	})
	envoytest.Await(t, 2*time.Minute, "Triton is ready", func() bool {
		answer, err := http.Get("http://" + net.JoinHostPort(host, httpPort) + "/v2/health/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return server, "http://" + net.JoinHostPort(host, metricsPort) + "/metrics"
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// callBothModels makes one call after the other: two models, an index call and a failure now and then.
func callBothModels(ctx context.Context, c *envoytest.Client, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		switch {
		case n%25 == 0:
			c.Call(ctx, envoytest.RepositoryIndex, nil)
		case n%40 == 7:
			c.Call(ctx, envoytest.ModelInfer, inferRequest("half", -1))
		case client%2 == 0:
			c.Call(ctx, envoytest.ModelInfer, inferRequest("double", 1))
		default:
			c.Call(ctx, envoytest.ModelInfer, inferRequest("half", 1))
		}
	}
}

// inferRequest encodes Triton's ModelInferRequest for one number.
func inferRequest(model string, value float32) []byte {
	var tensor []byte
	tensor = text(tensor, 1, "IN")
	tensor = text(tensor, 2, "FP32")
	tensor = protowire.AppendTag(tensor, 3, protowire.BytesType)
	tensor = protowire.AppendBytes(tensor, []byte{1, 1}) // shape
	raw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(value))
	request := text(nil, 1, model)
	request = text(request, 5, string(tensor))
	return text(request, 7, string(raw))
}

func text(to []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// A recorder keeps the values of each series, with _ where there was none.
type recorder struct {
	scrapes int
	values  map[string][]string
}

func (r *recorder) scrape(t *testing.T, url, pod string) {
	t.Helper()
	for _, family := range exported(t, url) {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.Now()}, family)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			r.add(s.Metric, pod, float64(s.Value))
		}
	}
}

// exported reads what Prometheus would read.
func exported(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// add leaves out what no dashboard reads: other clusters and other listeners.
func (r *recorder) add(m model.Metric, pod string, value float64) {
	cluster, listener := m["envoy_cluster_name"], m["envoy_http_conn_manager_prefix"]
	if (cluster != "" && cluster != "triton_grpc_service") || (listener != "" && listener != "ingress_grpc") || !read(string(m["__name__"])) {
		return
	}
	m["pod"], m["namespace"], m["release"] = model.LabelValue(pod), "cms", "sonic"
	series := m.String()
	values := r.values[series]
	for len(values) < r.scrapes {
		values = append(values, "_")
	}
	r.values[series] = append(values, fmt.Sprint(value))
}

// read says whether a dashboard or a query reads the series of that name.
func read(name string) bool {
	for _, prefix := range []string{
		"nv_inference_", "nv_cpu_", "envoy_server_live", "envoy_server_uptime", "envoy_server_memory_allocated",
		"envoy_http_downstream_rq_t", "envoy_http_downstream_cx_active", "envoy_http_lua_gate_",
		"envoy_cluster_membership_healthy", "envoy_cluster_upstream_rq_", "envoy_cluster_upstream_cx_active", "envoy_cluster_upstream_cx_none_healthy",
	} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasPrefix(name, "envoy_cluster_upstream_rq_time_bucket")
		}
	}
	return false
}

// names are the metrics of all series, sorted.
func (r *recorder) names() []string {
	names := map[string]bool{}
	for series := range r.values {
		name, _, _ := strings.Cut(series, "{")
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (r *recorder) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What a real Envoy and a real Triton exported, every %s under load, with the labels of the chart's scrape jobs.\n", recordInterval)
	fmt.Fprintf(&b, "# Written by: go test ./internal/dataplane -run TestRecording -record\nload %s\n", recordInterval)
	for _, series := range slices.Sorted(maps.Keys(r.values)) {
		fmt.Fprintf(&b, "  %s %s\n", series, strings.Join(r.values[series], " "))
	}
	return b.Bytes()
}
