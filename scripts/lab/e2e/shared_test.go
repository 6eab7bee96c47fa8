package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
)

// Two releases of the same name in two namespaces, scraped by one Prometheus, are
// independent: one grows, the other keeps its size.
func TestTwoReleasesOnOnePrometheus(t *testing.T) {
	const monitoring = "monitoring"
	must(t, lab.Namespace(t.Context(), monitoring))
	manifest, err := os.ReadFile("testdata/prometheus.yaml")
	must(t, err)
	_, err = lab.Kubectl(t.Context(), string(manifest), "--namespace", monitoring, "apply", "-f", "-")
	must(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := lab.Kubectl(ctx, string(manifest), "--namespace", monitoring, "delete", "--ignore-not-found", "-f", "-")
		must(t, err)
		must(t, lab.RemoveNamespace(ctx, monitoring))
	})
	external := []string{
		"--set", "prometheus.enabled=false", "--set", "prometheus.external.enabled=true",
		"--set", "prometheus.external.url=http://prometheus." + monitoring + ".svc.cluster.local",
		"--set", "prometheus.external.port=9090", "--set", "prometheus.external.scrapeInterval=5s",
		"--set", "keda.maxReplicaCount=3",
	}
	busy, idle := install(t, "one", external...), install(t, "two", external...)
	busy.firstAnswer(time.Minute)
	idle.firstAnswer(time.Minute)
	sizes, still := busy.WatchSizes(t.Context()), idle.WatchSizes(t.Context())
	run := busy.clients(16, "fast", "slow")
	busy.awaitSize(sizes, 4*time.Minute, 3)
	busy.await(3*time.Minute, "a minute at that size", func(context.Context) error {
		if s := sizes.Steady(); s < time.Minute {
			return fmt.Errorf("steady for %s", s)
		}
		return nil
	})
	noneFailed(t, "clients", run.Stop())
	for _, s := range still.Stop() {
		if s.Wanted != 1 {
			t.Fatalf("the idle release was scaled: %s", cluster.Describe(still.Course()))
		}
	}
	metric, err := lab.Kubectl(t.Context(), "", "--namespace", idle.Namespace, "get", "hpa", "-o",
		"jsonpath={.items[0].status.currentMetrics[0].external.current.averageValue}")
	must(t, err)
	if strings.TrimLeft(metric, "0") != "" {
		t.Errorf("the idle release reads %q, want 0", metric)
	}
}
