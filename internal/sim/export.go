package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
	"github.com/fastmachinelearning/supersonic/internal/sim/scrape"
)

// An exported is a metric, and how it is read from the counters of a pod.
type exported[T any] struct {
	name string
	read func(c *T, now time.Duration) float64
}

// ofEnvoy are the metrics of an Envoy's cluster of replicas.
var ofEnvoy = []exported[fleet.EnvoyCounters]{
	{"envoy_cluster_upstream_rq_time_sum", func(c *fleet.EnvoyCounters, _ time.Duration) float64 { return seen(c.TimeSum, c.TimeCount) }},
	{"envoy_cluster_upstream_rq_time_count", func(c *fleet.EnvoyCounters, _ time.Duration) float64 {
		return seen(float64(c.TimeCount), c.TimeCount)
	}},
	{"envoy_cluster_upstream_rq_total", func(c *fleet.EnvoyCounters, _ time.Duration) float64 { return float64(c.Requests) }},
	{"envoy_cluster_upstream_rq_active", func(c *fleet.EnvoyCounters, _ time.Duration) float64 { return float64(c.Active) }},
	{"envoy_cluster_upstream_cx_none_healthy", func(c *fleet.EnvoyCounters, _ time.Duration) float64 { return float64(c.NoneHealthy) }},
	{"envoy_cluster_membership_healthy", func(c *fleet.EnvoyCounters, _ time.Duration) float64 { return float64(c.Healthy) }},
}

// ofAnswers are the metrics of the responses that an Envoy gets from replicas.
var ofAnswers = []exported[fleet.EnvoyCounters]{
	{"envoy_cluster_upstream_rq_xx", func(c *fleet.EnvoyCounters, _ time.Duration) float64 {
		return seen(float64(c.Answered), c.Answered)
	}},
}

// seen is a value that Envoy exports only once it has counted something. NaN means
// no sample.
func seen(v float64, counted int64) float64 {
	if counted == 0 {
		return math.NaN()
	}
	return v
}

// ofListener are the metrics of an Envoy's listener for clients.
var ofListener = []exported[fleet.EnvoyCounters]{
	{"envoy_listener_downstream_cx_active", func(c *fleet.EnvoyCounters, _ time.Duration) float64 { return float64(c.Connections) }},
}

// ofServer are the metrics of an Envoy itself.
var ofServer = []exported[fleet.EnvoyCounters]{
	{"envoy_server_uptime", func(c *fleet.EnvoyCounters, now time.Duration) float64 {
		return (now - c.Started).Truncate(time.Second).Seconds()
	}},
}

// ofModel are the metrics of a model on a replica.
var ofModel = []exported[fleet.ModelCounters]{
	{"nv_inference_request_success", func(c *fleet.ModelCounters, _ time.Duration) float64 { return float64(c.Successes) }},
	{"nv_inference_exec_count", func(c *fleet.ModelCounters, _ time.Duration) float64 { return float64(c.Executions) }},
	{"nv_inference_request_duration_us", func(c *fleet.ModelCounters, _ time.Duration) float64 { return float64(c.Request.Microseconds()) }},
	{"nv_inference_queue_duration_us", func(c *fleet.ModelCounters, _ time.Duration) float64 { return float64(c.Queue.Microseconds()) }},
	{"nv_inference_pending_request_count", func(c *fleet.ModelCounters, _ time.Duration) float64 { return float64(c.Pending) }},
}

// podLabels are what the chart's Prometheus adds to each series.
func podLabels(pod string, more ...string) labels.Labels {
	return labels.FromStrings(append(more, "release", Release, "namespace", Namespace, "pod", pod, "app", "supersonic")...)
}

// A target is a pod that Prometheus scrapes. Each has its own phase.
type target struct {
	envoy   int // -1 for a replica
	replica int // -1 for an Envoy
	next    time.Duration
	series  []*scrape.Series // in the order in which scrape reads them
}

// series makes the series of metrics that a query reads; the others are nil.
func series[T any](s *scrape.Store, reads func(string) bool, metrics []exported[T], l labels.Labels) []*scrape.Series {
	var all []*scrape.Series
	for _, m := range metrics {
		if !reads(m.name) {
			all = append(all, nil)
			continue
		}
		all = append(all, s.Series(m.name, l))
	}
	return all
}

func newEnvoyTarget(s *scrape.Store, reads func(string) bool, i int) *target {
	pod := fmt.Sprintf("envoy-%d", i)
	t := &target{envoy: i, replica: -1}
	t.series = append(t.series, series(s, reads, ofEnvoy, podLabels(pod, "envoy_cluster_name", "triton_grpc_service"))...)
	answers := podLabels(pod, "envoy_cluster_name", "triton_grpc_service", "envoy_response_code_class", "2")
	t.series = append(t.series, series(s, reads, ofAnswers, answers)...)
	t.series = append(t.series, series(s, reads, ofListener, podLabels(pod, "envoy_listener_address", "clients"))...)
	t.series = append(t.series, series(s, reads, ofServer, podLabels(pod))...)
	return t
}

func newReplicaTarget(s *scrape.Store, reads func(string) bool, id int, models []Model) *target {
	t := &target{envoy: -1, replica: id}
	for _, m := range models {
		t.series = append(t.series, series(s, reads, ofModel, podLabels(fmt.Sprintf("triton-%d", id), "model", m.Name, "version", "1"))...)
	}
	return t
}

// scrape reads the target's metrics.
func (t *target) scrape(w *fleet.World, models int) {
	now := w.Now()
	if t.envoy >= 0 {
		c := w.Envoys()[t.envoy]
		n := add(t.series, ofEnvoy, &c, now)
		n += add(t.series[n:], ofAnswers, &c, now)
		n += add(t.series[n:], ofListener, &c, now)
		add(t.series[n:], ofServer, &c, now)
		return
	}
	for m := range models {
		c := w.Model(t.replica, m)
		add(t.series[m*len(ofModel):], ofModel, &c, now)
	}
}

func add[T any](to []*scrape.Series, metrics []exported[T], c *T, now time.Duration) int {
	for i, m := range metrics {
		if to[i] == nil {
			continue
		}
		if v := m.read(c, now); !math.IsNaN(v) {
			to[i].Add(now, v)
		}
	}
	return len(metrics)
}

// end marks the target's series as stale.
func (t *target) end(now time.Duration) {
	for _, s := range t.series {
		if s != nil {
			s.End(now)
		}
	}
}
