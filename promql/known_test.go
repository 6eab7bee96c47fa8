package promql_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fastmachinelearning/supersonic/promql"
)

// TestKnown removes, ends and shortens series at random. Every answer is one number
// while a membership sample is current and every counted request has its time, and
// empty otherwise.
func TestKnown(t *testing.T) {
	rng := random(t)
	var f fleets
	releases := map[string]gaps{}
	for i := range 300 {
		release := fmt.Sprint("r", i)
		releases[release] = f.withGaps(rng, release)
	}
	series, eng := f.store(t), newEngine(t)
	for release, g := range releases {
		for _, mode := range modes {
			for name, query := range queries {
				if name == "QUEUE_LATENCY" || name == "TRITON_SERIES" {
					continue // of Triton alone
				}
				q, err := query.Build(inMode(release, mode))
				if err != nil {
					t.Fatal(err)
				}
				if value, got := asked(t, eng, series, q); got != g.known(name, mode) {
					t.Errorf("%s of %s, %v: known %v (%g), want %v", name, release, mode, got, value, !got)
				}
			}
		}
	}
}

// gaps says what is left of the series of a release, by metric.
type gaps map[string]*struct{ current, rate, grew bool }

// known reports whether a query has an answer.
func (g gaps) known(query string, mode promql.Params) bool {
	timed := g["envoy_cluster_upstream_rq_time_sum"].current || !g["envoy_cluster_upstream_rq_xx"].grew
	active := g["envoy_cluster_upstream_rq_active"].current
	inFlight := g["envoy_cluster_upstream_rq_time_sum"].rate || timed
	if mode.InFlight == promql.Active {
		inFlight = active
	}
	durations := g["nv_inference_request_duration_us"].rate && g["nv_inference_queue_duration_us"].rate
	serving := durations || !g["nv_inference_request_success"].grew
	members, arrivals := g["envoy_cluster_membership_healthy"], g["envoy_cluster_upstream_rq_total"]
	clients := active && g["envoy_listener_downstream_cx_active"].current
	thinking := true
	switch {
	case mode.ThinkTime == promql.Measured:
		thinking = clients
	case mode.ThinkTime > 0:
		thinking = arrivals.rate && (g["envoy_cluster_upstream_rq_time_count"].rate || timed)
	}
	covered := members.rate // more than one sample: the window before has some
	known := map[string]bool{
		"NEEDED_REPLICAS": covered && inFlight && serving && thinking,
		"OCCUPANCY_RATIO": covered && inFlight && serving,
		"IN_FLIGHT":       inFlight,
		"SERVING":         serving,
		"CLIENTS":         clients,
		"THINKING":        clients,
		"THINK_TIME":      clients && arrivals.grew,
		"REPLICAS":        true,
		"WAKE_UP":         true,
	}
	return members.current && known[query]
}

// withGaps loads the series of a release, each of them complete, short, ended or absent.
func (f *fleets) withGaps(rng *rand.Rand, release string) gaps {
	g := gaps{}
	add := func(name, labels string, growth int) {
		if g[name] == nil {
			g[name] = &struct{ current, rate, grew bool }{}
		}
		if labels == "" {
			return
		}
		m := g[name]
		switch rng.IntN(4) {
		case 0: // absent
		case 1: // ended a scrape ago
			f.series(name, release, labels, fmt.Sprintf("%d+%dx28 stale", rng.IntN(9), growth))
			m.rate, m.grew = true, m.grew || growth > 0
		case 2: // one sample
			f.series(name, release, labels, fmt.Sprintf("_x30 %d", rng.IntN(9)))
			m.current = true
		default:
			f.series(name, release, labels, fmt.Sprintf("%d+%dx30", rng.IntN(9), growth))
			m.current, m.rate, m.grew = true, true, m.grew || growth > 0
		}
	}
	pods := func(n int, labels string, metrics map[string]int) {
		for _, name := range slices.Sorted(maps.Keys(metrics)) {
			add(name, "", 0)
			for pod := range n {
				add(name, fmt.Sprintf(labels, pod), rng.IntN(metrics[name]))
			}
		}
	}
	pods(rng.IntN(3), `envoy_cluster_name="triton_grpc_service", envoy_response_code_class="2", pod="envoy-%d"`, map[string]int{
		"envoy_cluster_membership_healthy": 2, "envoy_cluster_upstream_rq_time_sum": 500_000, "envoy_cluster_upstream_rq_active": 9,
		"envoy_cluster_upstream_cx_none_healthy": 9, "envoy_cluster_upstream_rq_xx": 2,
		"envoy_cluster_upstream_rq_total": 2, "envoy_cluster_upstream_rq_time_count": 9,
	})
	pods(rng.IntN(3), `envoy_listener_address="clients", pod="envoy-%d"`, map[string]int{"envoy_listener_downstream_cx_active": 9})
	pods(rng.IntN(3), `model="tagger", pod="triton-%d"`, map[string]int{
		"nv_inference_request_duration_us": 500_000_000, "nv_inference_queue_duration_us": 500_000_000, "nv_inference_request_success": 2,
	})
	return g
}
