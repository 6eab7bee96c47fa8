package prometheus

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// A collector is a running OpenTelemetry collector with the rendered configuration.
type collector struct{ grpc, http, own string } // host:port, own for its own metrics

// startCollector runs the collector on free ports of loopback. Its exporters send to the given addresses, by name.
func startCollector(t *testing.T, config string, endpoints map[string]string) *collector {
	t.Helper()
	c := &collector{grpc: ports.Loopback(t), http: ports.Loopback(t), own: ports.Loopback(t)}
	health := ports.Loopback(t)
	host, port, _ := strings.Cut(c.own, ":")
	for old, address := range map[string]string{
		"0.0.0.0:4317": c.grpc, "0.0.0.0:4318": c.http, "0.0.0.0:13133": health,
		"host: 0.0.0.0": "host: " + host, "port: 8888": "port: " + port,
	} {
		if !strings.Contains(config, old) {
			t.Fatalf("no %s in the collector's configuration:\n%s", old, config)
		}
		config = strings.ReplaceAll(config, old, address)
	}
	for rendered, address := range endpoints {
		if !strings.Contains(config, rendered) {
			t.Fatalf("no %s in the collector's configuration:\n%s", rendered, config)
		}
		config = strings.ReplaceAll(config, rendered, address)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	program := tools.Path(t, "otelcol")
	if said, err := exec.Command(program, "validate", "--config="+file).CombinedOutput(); err != nil {
		t.Fatalf("the collector refuses its configuration: %v\n%s", err, said)
	}
	command := exec.Command(program, "--config="+file)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the collector says:\n%s", log.String())
		}
	})
	envoy.Await(t, limit, "the collector is ready", func() bool {
		answer, err := http.Get("http://" + health)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return c
}

// renderedCollector returns the collector's configuration for the values.
func renderedCollector(t *testing.T, values string) string {
	t.Helper()
	return manifest.File(t, manifest.Render(t, values), "otel/collector.yaml", "config.yaml")
}

// The collector starts with every pipeline that the chart renders, also for typical values of sites.
func TestCollectorConfigurations(t *testing.T) {
	const on = "opentelemetry-collector: {enabled: true}\n"
	configs := map[string]string{
		"traces-and-metrics": "tempo: {enabled: true}\nprometheus: {enabled: true}\n" + on,
		"traces-only":        "tempo: {enabled: true}\n" + on,
		"metrics-only":       "prometheus: {enabled: true}\n" + on,
		"elsewhere": `opentelemetry-collector: {enabled: true, config: {exporters: {
  otlp: {endpoint: "tempo.example.org:4317", tls: {insecure: false}},
  prometheusremotewrite: {endpoint: "https://metrics.example.org/api/v1/write"}}}}`,
		"over-http": "tempo: {enabled: true}\n" + `opentelemetry-collector: {enabled: true, config: {service: {pipelines: {
  traces: {exporters: [otlphttp, spanmetrics]}}}}}`,
		"own-pipelines": "tempo: {enabled: true}\nprometheus: {enabled: true}\n" + `opentelemetry-collector: {enabled: true, config: {
  processors: {transform: {trace_statements: [{context: span, statements: ['set(attributes["a"], "b")']}]}},
  connectors: {spanmetrics: {metrics_flush_interval: 30s}}, service: {pipelines: {
  traces: {receivers: [otlp], processors: [transform], exporters: [otlp, spanmetrics]},
  metrics: {receivers: [spanmetrics], processors: [batch], exporters: [prometheusremotewrite]}}}}}`,
	}
	files, err := filepath.Glob("../../../values/values-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("values: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var values struct {
			Collector struct{ Enabled bool } `json:"opentelemetry-collector"`
		}
		if err := yaml.Unmarshal(text, &values); err != nil {
			t.Fatal(err)
		}
		if values.Collector.Enabled {
			configs[filepath.Base(file)] = string(text)
		}
	}
	for name, values := range configs {
		t.Run(name, func(t *testing.T) { startCollector(t, renderedCollector(t, values), nil) })
	}
}

// The default image has the version that these tests run.
func TestCollectorImage(t *testing.T) {
	said, err := exec.Command(tools.Path(t, "otelcol"), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.Fields(string(said))[2]
	m := manifest.Render(t, "tempo: {enabled: true}\nopentelemetry-collector: {enabled: true}\n")
	if want := "otel/opentelemetry-collector-contrib:" + version; !strings.Contains(m["otel/collector.yaml"], want) {
		t.Errorf("the chart's collector is not %s", want)
	}
}

// Traces of Envoy and Triton become metrics in Prometheus, with the names of the pods, and Triton's models as spans.
func TestSpanMetrics(t *testing.T) {
	const values = `
tempo: {enabled: true}
prometheus: {enabled: true}
opentelemetry-collector: {enabled: true, config: {connectors: {spanmetrics: {metrics_flush_interval: 1s}}}}
`
	s := start(t, values, nil)
	c := startCollector(t, renderedCollector(t, values), map[string]string{
		"http://sonic-prometheus-server.cms.svc.cluster.local:9090": "http://" + s.addr,
	})
	for file, kind := range map[string]string{
		"envoy-traces.binpb": "application/x-protobuf", "triton-traces.json": "application/json",
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post("http://"+c.http+"/v1/traces", kind, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", file, answer.Status)
		}
	}
	for _, span := range []struct{ name, service, kind string }{
		{"ingress", "the-pod", "SPAN_KIND_CLIENT"},
		{"InferRequest", "sonic-triton-0", "SPAN_KIND_SERVER"},
		{"double", "sonic-triton-0", "SPAN_KIND_SERVER"},
		{"compute", "sonic-triton-0", "SPAN_KIND_SERVER"},
	} {
		of := fmt.Sprintf(`{span_name=%q,service_name=%q,span_kind=%q,release="sonic",namespace="cms"}`, span.name, span.service, span.kind)
		envoy.Await(t, limit, "metrics of "+of, func() bool {
			return s.value(t, "traces_span_metrics_calls_total"+of) == "1" &&
				s.value(t, "traces_span_metrics_duration_milliseconds_count"+of) == "1"
		})
	}
}
