package promql_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"

	"github.com/fastmachinelearning/supersonic/promql"
)

// against alternates between ours and a baseline, reports the ratio of their medians,
// and fails if it is above the budget.
func against(b *testing.B, budget float64, ours, baseline func()) {
	var mine, theirs []time.Duration
	for b.Loop() {
		mine = append(mine, timed(ours))
		theirs = append(theirs, timed(baseline))
	}
	ratio := float64(median(mine)) / float64(median(theirs))
	b.ReportMetric(ratio, "x-baseline")
	b.ReportMetric(float64(median(mine)), "ours-ns")
	if ratio > budget {
		b.Errorf("takes %.2f times the baseline, want %g at most", ratio, budget)
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkBuild compares building and checking the largest query with parsing its
// text once.
func BenchmarkBuild(b *testing.B) {
	for _, mode := range modes {
		p := inMode("sonic", mode)
		q, err := promql.NeededReplicas(p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s-%s", p.Replicas, p.InFlight), func(b *testing.B) {
			against(b, 5, func() {
				if _, err := promql.NeededReplicas(p); err != nil {
					b.Fatal(err)
				}
			}, func() {
				if _, err := parser.NewParser(parser.Options{}).ParseExpr(q.String()); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// writtenForm is a direct transcription of the formula for one release: with the last
// sample of the replicas, a difference for each Triton series, and no default for
// missing series. It is only the baseline of the cost.
const writtenForm = `
sum(rate(envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}[1m])) / 1e3
* max(envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"})
/ clamp_min(
  clamp_min(
    sum(rate(nv_inference_request_duration_us{namespace="cms",release="sonic"}[1m])
      - rate(nv_inference_queue_duration_us{namespace="cms",release="sonic"}[1m])) / 1e6,
    scalar(max(envoy_cluster_membership_healthy{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}))
  ),
  1
)`

// BenchmarkNeededReplicas answers from 10,000 series of Triton's durations, of 50
// models on each of 100 pods, and the counts of their requests.
func BenchmarkNeededReplicas(b *testing.B) {
	var load strings.Builder
	load.WriteString("load 15s\n")
	line := func(name, labels, points string) {
		fmt.Fprintf(&load, "  %s{release=\"sonic\", namespace=\"cms\", %s} %s\n", name, labels, points)
	}
	for pod := range 2 {
		labels := fmt.Sprintf(`envoy_cluster_name="triton_grpc_service", pod="envoy-%d"`, pod)
		line("envoy_cluster_membership_healthy", labels, "100x20")
		line("envoy_cluster_upstream_rq_time_sum", labels, "0+4500000x20")
	}
	for i := range 5000 {
		labels := fmt.Sprintf(`model="model-%d", version="1", pod="triton-%d"`, i%50, i/50)
		line("nv_inference_request_duration_us", labels, "0+2000000x20")
		line("nv_inference_queue_duration_us", labels, "0+1000000x20")
		line("nv_inference_request_success", labels, "0+20x20")
	}
	series, eng := promqltest.LoadedStorage(b, load.String()), newEngine(b)
	ask := func(query string) {
		run, err := eng.NewInstantQuery(context.Background(), series, nil, query, time.Unix(0, 0).Add(now))
		if err != nil {
			b.Fatal(err)
		}
		defer run.Close()
		if answers, err := run.Exec(context.Background()).Vector(); err != nil || len(answers) != 1 || !near(answers[0].F, 180) {
			b.Fatalf("answers %v, %v, want 180", answers, err)
		}
	}
	for _, mode := range modes {
		q, err := promql.NeededReplicas(inMode("sonic", mode))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s-%s", mode.Replicas, mode.InFlight), func(b *testing.B) {
			against(b, 1.3, func() { ask(q.String()) }, func() { ask(writtenForm) })
		})
	}
}
