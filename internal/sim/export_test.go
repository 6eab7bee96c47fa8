package sim

import (
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
	"github.com/fastmachinelearning/supersonic/internal/sim/scrape"
	"github.com/fastmachinelearning/supersonic/promql"
)

// Every series that the queries read is exported, with the labels that they select
// by, and every query has an answer.
func TestQueriesFindWhatIsExported(t *testing.T) {
	world := fleet.New(&fleet.Config{
		Models:   []fleet.Model{{Service: fleet.Times{Mean: 50 * time.Millisecond, Distribution: fleet.Constant}, Instances: 1}},
		Clients:  []fleet.Clients{{Count: 8, Mix: []fleet.Share{{Weight: 1}}}},
		Flush:    time.Second,
		Replicas: 2,
	}, 1)
	store := scrape.NewStore(time.Hour)
	all := func(string) bool { return true }
	targets := []*target{newEnvoyTarget(store, all, 0)}
	for id := range 2 {
		targets = append(targets, newReplicaTarget(store, all, id, []Model{{Name: "model"}}))
	}
	for at := time.Duration(0); at <= 5*time.Minute; at += 5 * time.Second {
		world.Run(at)
		for _, t := range targets {
			t.scrape(world, 1)
		}
	}
	for _, named := range promql.Queries() {
		q, err := named.Build(promql.ForRelease(Release, Namespace))
		if err != nil {
			t.Fatal(err)
		}
		reading, err := scrape.Reads([]string{q.String()})
		if err != nil {
			t.Fatal(err)
		}
		for metric := range reading.Name {
			if metric == "envoy_cluster_upstream_rq_time" {
				continue // a native histogram, if Prometheus converts the classic one
			}
			if got := values(t, store, "count("+metric+")"); len(got) != 1 || got[0] < 1 {
				t.Errorf("%s reads %s, which is not exported", named.Name, metric)
			}
		}
		if got := values(t, store, q.String()); len(got) != 1 {
			t.Errorf("%s answers with %v", named.Name, got)
		}
	}
	needed, err := promql.NeededReplicas(promql.ForRelease(Release, Namespace))
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, store, needed.String())[0]; got < 7.6 || got > 8.4 {
		t.Errorf("8 clients that wait need %g replicas", got)
	}
}

func values(t *testing.T, s *scrape.Store, query string) []float64 {
	t.Helper()
	v, err := scrape.NewEngine().Values(t.Context(), s, query, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
