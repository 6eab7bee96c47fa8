package fleet

import (
	"math"
	"time"
)

// EnvoyCounters are the metrics of an Envoy.
type EnvoyCounters struct {
	Requests    int64   // envoy_cluster_upstream_rq_total: sent to a replica
	Answered    int64   // envoy_cluster_upstream_rq_xx of class 2: answered by a replica
	Active      int64   // envoy_cluster_upstream_rq_active
	TimeSum     float64 // envoy_cluster_upstream_rq_time_sum, milliseconds, as of the last flush
	TimeCount   int64   // envoy_cluster_upstream_rq_time_count, as of the last flush
	NoneHealthy int64   // envoy_cluster_upstream_cx_none_healthy: found no replica
	Healthy     int     // envoy_cluster_membership_healthy
	Connections int64   // open connections of clients
	Started     time.Duration
}

// envoy is one Envoy. Its histograms are exported when they are flushed; gauges and
// counters always.
type envoy struct {
	balancer
	counters  EnvoyCounters
	timeSum   float64 // including times that are not flushed yet
	timeCount int64
}

// record counts a completed request.
func (e *envoy) record(took time.Duration) {
	e.timeSum += binned(took.Milliseconds())
	e.timeCount++
	e.counters.Answered++
}

func (e *envoy) flush() { e.counters.TimeSum, e.counters.TimeCount = e.timeSum, e.timeCount }

// restart resets the counters. Requests and connections continue.
func (e *envoy) restart(now time.Duration) {
	e.timeSum, e.timeCount = 0, 0
	e.counters = EnvoyCounters{Active: e.counters.Active, Connections: e.counters.Connections, Started: now}
}

// smallBins has the first bins' values, for speed.
var smallBins = func() (bins [4096]float64) {
	for ms := range bins {
		bins[ms] = bin(int64(ms))
	}
	return bins
}()

// binned is what Envoy's histogram adds to its sum for a time in whole
// milliseconds: the middle of the time's bin.
func binned(ms int64) float64 {
	if ms < int64(len(smallBins)) {
		return smallBins[ms]
	}
	return bin(ms)
}

// bin is the middle of the bin of a value: bins have two significant digits, and
// the middle is that of libcircllhist, which Envoy uses.
func bin(ms int64) float64 {
	if ms <= 0 {
		return 0
	}
	width := math.Pow(10, math.Floor(math.Log10(float64(ms)))-1)
	bottom := math.Floor(float64(ms)/width+1e-9) * width
	return bottom + width*bottom/(2*bottom+width)
}
