package proxy

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// gpus are the series that a Triton with two GPUs adds. The recorded ones have none.
const gpus = `
load 5s
  nv_gpu_utilization{gpu_uuid="GPU-a",namespace="cms",pod="triton-0",release="sonic"} 0.5x49
  nv_gpu_utilization{gpu_uuid="GPU-b",namespace="cms",pod="triton-0",release="sonic"} 0.7x49
  nv_gpu_memory_used_bytes{gpu_uuid="GPU-a",namespace="cms",pod="triton-0",release="sonic"} 4e9x49
  nv_gpu_memory_total_bytes{gpu_uuid="GPU-a",namespace="cms",pod="triton-0",release="sonic"} 16e9x49
  nv_gpu_power_usage{gpu_uuid="GPU-a",namespace="cms",pod="triton-0",release="sonic"} 100x49
  nv_gpu_power_limit{gpu_uuid="GPU-a",namespace="cms",pod="triton-0",release="sonic"} 250x49
`

// elsewhere is a release of the same name in another namespace, which no panel may show.
const elsewhere = `
load 5s
  envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="atlas",pod="envoy-0",release="sonic"} 9x49
  nv_gpu_utilization{gpu_uuid="GPU-c",namespace="atlas",pod="triton-0",release="sonic"} 1x49
`

// recordingEnd is the time of the recording's last scrape.
var recordingEnd = time.Unix(0, 0).Add((recordScrapes - 1) * recordInterval)

// panel is the part of a rendered panel that the test reads.
type panel struct {
	Title   string
	Targets []struct{ RefID, Expr, LegendFormat string }
}

func renderedDashboards(t *testing.T, values string) map[string][]panel {
	t.Helper()
	all := map[string][]panel{}
	for name, text := range manifest.Data(t, manifest.Render(t, values), "grafana/dashboards.yaml") {
		var d struct{ Panels []panel }
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = d.Panels
	}
	return all
}

func recorded(t *testing.T, more ...string) storage.Storage {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	s := promqltest.LoadedStorage(t, string(text)+strings.Join(more, ""))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// grafanaVariables replaces variables as Grafana does.
var grafanaVariables = strings.NewReplacer("$__rate_interval", "1m", "$__range", "2m", "$namespace", "cms", "$release", "sonic")

func evaluate(t *testing.T, s storage.Storage, expr string) promql.Vector {
	t.Helper()
	return evaluateAt(t, s, expr, recordingEnd)
}

func evaluateAt(t *testing.T, s storage.Storage, expr string, at time.Time) promql.Vector {
	t.Helper()
	query, err := promqltest.NewTestEngine(t, false, 0, 100000).NewInstantQuery(t.Context(), s, nil, grafanaVariables.Replace(expr), at)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return vector
}

var legendLabel = regexp.MustCompile(`{{(\w+)}}`)

// TestPanelLegends evaluates each expression of the rendered dashboards on the recorded metrics of a real Envoy and a
// real Triton.
func TestPanelLegends(t *testing.T) {
	s := recorded(t, gpus, elsewhere)
	for name, panels := range renderedDashboards(t, "prometheus: {enabled: true}\ngrafana: {enabled: true}\nkeda: {enabled: true}\n") {
		for _, p := range panels {
			for _, target := range p.Targets {
				series := evaluate(t, s, target.Expr)
				if len(series) == 0 {
					t.Errorf("%s: panel %q shows nothing for\n%s", name, p.Title, target.Expr)
				}
				labels := legendLabel.FindAllStringSubmatch(target.LegendFormat, -1)
				if len(series) > 1 && len(labels) == 0 {
					t.Errorf("%s: panel %q gives %d series one legend, %s", name, p.Title, len(series), target.LegendFormat)
				}
				for _, sample := range series {
					for _, label := range labels {
						if sample.Metric.Get(label[1]) == "" {
							t.Errorf("%s: panel %q: legend %s, and the series is %s", name, p.Title, target.LegendFormat, sample.Metric)
						}
					}
				}
			}
		}
	}
}

func TestPanelValues(t *testing.T) {
	s := recorded(t, gpus, elsewhere)
	values := "prometheus: {enabled: true}\ngrafana: {enabled: true}\nkeda: {enabled: true, maxReplicaCount: 5}\nserverLoadThreshold: 1.5\n"
	exprs := map[string]string{}
	for _, panels := range renderedDashboards(t, values) {
		for _, p := range panels {
			for _, target := range p.Targets {
				exprs[p.Title+"/"+target.RefID] = target.Expr
			}
		}
	}
	const crowded, grown, calm = 25, 38, recordScrapes - 1 // the last scrape of each scene
	for _, want := range []struct {
		panel       string
		scrape      int
		least, most float64
	}{
		// One replica and 12 clients: four requests are served at once, two of each model.
		{"Requests in flight and serving/inFlight", crowded, 10, 12.5},
		{"Requests in flight and serving/serving", crowded, 2.5, 4.5},
		{"Replicas/replicas", crowded, 1, 1},
		{"Occupancy ratio/occupancyRatio", crowded, 2.5, 4.5},
		{"Replicas wanted/wantedReplicas", crowded, 2, 3},
		// A second replica started 55 seconds ago, and the window is a minute.
		{"Requests in flight and serving/inFlight", grown, 9, 12.5},
		{"Requests in flight and serving/serving", grown, 5, 8.5},
		{"Replicas/replicas", grown, 1.7, 2},
		{"Occupancy ratio/occupancyRatio", grown, 1.2, 2.2},
		// Three clients are left, for 55 seconds of the window.
		{"Requests in flight and serving/inFlight", calm, 2, 5},
		{"Replicas/replicas", calm, 2, 2},
		{"Occupancy ratio/occupancyRatio", calm, 0.7, 1.6},
		{"Occupancy ratio and thresholds/scalingThreshold", calm, 1.5, 1.5},
		{"Occupancy ratio and thresholds/admissionThreshold", calm, 3, 3},
		{"GPUs in use/A", calm, 2, 2},
		{"GPU time/A", calm, 4, 6},
		{"Calls that found no replica/wakeUp", calm, 0, 0},
	} {
		got := evaluateAt(t, s, exprs[want.panel], time.Unix(0, 0).Add(time.Duration(want.scrape)*recordInterval))
		if len(got) != 1 || got[0].F < want.least || got[0].F > want.most {
			t.Errorf("%s at scrape %d: %v, want one series of %g to %g", want.panel, want.scrape, got, want.least, want.most)
		}
	}
}

// TestTimesAreThoseOfARequest checks that panels of times count the requests of a batch, not the batch.
func TestTimesAreThoseOfARequest(t *testing.T) {
	// 12 requests a minute in 3 batches, which queue for 1,553,124 µs together: 129.4 ms each.
	s := promqltest.LoadedStorage(t, `
load 1m
  nv_inference_request_success{model="m",namespace="cms",release="sonic"} 0 12 24
  nv_inference_exec_count{model="m",namespace="cms",release="sonic"} 0 3 6
  nv_inference_queue_duration_us{model="m",namespace="cms",release="sonic"} 0 1553124 3106248
`)
	t.Cleanup(func() { _ = s.Close() })
	for _, panels := range renderedDashboards(t, "prometheus: {enabled: true}\ngrafana: {enabled: true}\n") {
		for _, p := range panels {
			if p.Title != "Queue time by model" {
				continue
			}
			expr := strings.ReplaceAll(p.Targets[0].Expr, "$__rate_interval", "2m")
			if got := evaluateAt(t, s, expr, time.Unix(0, 0).Add(2*time.Minute)); len(got) != 1 || got[0].F < 129.4 || got[0].F > 129.5 {
				t.Errorf("%s is %v, want 129.4 ms", expr, got)
			}
		}
	}
}

// A fleet with minReplicaCount 0 is wanted at 0 without work. Work, or a call that finds no replica, wakes it.
func TestWantedReplicasFromZero(t *testing.T) {
	const fleet = "prometheus: {enabled: true}\ngrafana: {enabled: true}\nkeda: {enabled: true, maxReplicaCount: 8, "
	for _, c := range []struct {
		name, keda               string
		inFlight, serving, ready float64 // requests, requests, replicas
		without                  float64 // calls a second that find no replica
		want                     float64
	}{
		{"always one", "minReplicaCount: 1}", 0, 0, 1, 0, 1},
		{"idle", "minReplicaCount: 1, zeroIdleReplicas: true}", 0, 0, 0, 0, 0},
		{"idle, with a minimum of 0", "minReplicaCount: 0}", 0, 0, 0, 0, 0},
		{"idle, and before its cool-down", "minReplicaCount: 3, zeroIdleReplicas: true}", 0, 0, 3, 0, 0},
		{"called at 0", "minReplicaCount: 0}", 0, 0, 0, 2, 1},
		{"called at 0, with a minimum of 3", "minReplicaCount: 3, zeroIdleReplicas: true}", 0, 0, 0, 2, 3},
		{"little work", "minReplicaCount: 3, zeroIdleReplicas: true}", 1, 1, 3, 0, 3},
		{"much work", "minReplicaCount: 0}", 8, 2, 2, 0, 4},
		{"not enough work to wake", "minReplicaCount: 0, activationThreshold: 2}", 1, 1, 1, 0, 0},
		{"a metric of the user's own", "minReplicaCount: 0, wakeUp: {enabled: false}}\nserverLoadMetric: vector(5)", 0, 0, 0, 0, 3},
		{"an idle one", "minReplicaCount: 0, wakeUp: {enabled: false}}\nserverLoadMetric: vector(0)", 0, 0, 0, 0, 0},
	} {
		s := promqltest.LoadedStorage(t, fmt.Sprintf(`
load 15s
  envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"} %gx8
  envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"} 0+%gx8
  envoy_cluster_upstream_cx_none_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"} 0+%gx8
  nv_inference_request_duration_us{model="m",namespace="cms",release="sonic"} 0+%gx8
  nv_inference_queue_duration_us{model="m",namespace="cms",release="sonic"} 0x8
`, c.ready, 15e3*c.inFlight, 15*c.without, 15e6*c.serving))
		t.Cleanup(func() { _ = s.Close() })
		for _, p := range renderedDashboards(t, fleet+c.keda)["default.json"] {
			if p.Title != "Replicas wanted" {
				continue
			}
			if got := evaluateAt(t, s, p.Targets[0].Expr, time.Unix(120, 0)); len(got) != 1 || got[0].F != c.want {
				t.Errorf("%s: %v replicas are wanted, want %v", c.name, got, c.want)
			}
		}
	}
}
