package proxy

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A recorder stores the values of each series, with _ for missing ones.
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

// exported reads the metrics at a URL.
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

// add stores a value, unless it is of a cluster or listener that no dashboard shows.
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

// read reports whether a dashboard or a query reads the series of that name.
func read(name string) bool {
	for _, prefix := range []string{
		"nv_inference_", "nv_cpu_", "envoy_server_live", "envoy_server_uptime", "envoy_server_memory_allocated",
		"envoy_http_downstream_rq_t", "envoy_http_downstream_cx_active", "envoy_listener_downstream_cx_active", "envoy_http_lua_gate_",
		"envoy_cluster_membership_healthy", "envoy_cluster_upstream_rq_", "envoy_cluster_upstream_cx_active",
		"envoy_cluster_upstream_cx_none_healthy",
	} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasPrefix(name, "envoy_cluster_upstream_rq_time_bucket")
		}
	}
	return false
}

// names returns the metrics of all series, sorted.
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
	fmt.Fprintf(&b, "# What a real Envoy and two real Tritons exported, every %s under load, with the labels of the chart's scrape jobs.\n",
		recordInterval)
	fmt.Fprintf(&b, "# Written by: go test ./internal/test/proxy -run TestRecording -record\nload %s\n", recordInterval)
	for _, series := range slices.Sorted(maps.Keys(r.values)) {
		fmt.Fprintf(&b, "  %s %s\n", series, strings.Join(r.values[series], " "))
	}
	return b.Bytes()
}

// recordedNames returns the metrics in the recording.
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
