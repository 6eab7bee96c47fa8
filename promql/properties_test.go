package promql_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/fastmachinelearning/supersonic/promql"
)

var seed = flag.Uint64("seed", 0, "seed of the random fleets; 0 takes a new one")

// random returns a source whose seed is printed if the test fails.
func random(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("again with -seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// fleets holds the series of many releases on one Prometheus: 31 scrapes each, ten
// seconds apart.
type fleets struct{ load strings.Builder }

const now = 5 * time.Minute

func (f *fleets) series(name, release, labels, points string) {
	fmt.Fprintf(&f.load, "  %s{release=%q, namespace=\"cms\", %s} %s\n", name, release, labels, points)
}

func (f *fleets) store(t *testing.T) storage.Queryable {
	return promqltest.LoadedStorage(t, "load 10s\n"+f.load.String())
}

// asked returns the answer of a query, which must be empty or one number.
func asked(t *testing.T, eng *engine.Engine, series storage.Queryable, q promql.Query) (value float64, known bool) {
	t.Helper()
	run, err := eng.NewInstantQuery(context.Background(), series, nil, q.String(), time.Unix(0, 0).Add(now))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	result := run.Exec(context.Background())
	answers, err := result.Vector()
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) == 0 {
		return 0, false
	}
	if v := answers[0].F; len(answers) > 1 || !answers[0].Metric.IsEmpty() || !(v >= 0) || math.IsInf(v, 0) {
		t.Errorf("%s\n\tanswers %v, want one number of at least 0", q, answers)
	}
	return answers[0].F, true
}

var modes = []promql.Params{
	{Replicas: promql.Windowed, InFlight: promql.Completed},
	{Replicas: promql.Windowed, InFlight: promql.Larger},
	{Replicas: promql.Instant, InFlight: promql.Completed},
	{Replicas: promql.Instant, InFlight: promql.Larger},
	{Replicas: promql.Windowed, InFlight: promql.Active},
	{Replicas: promql.Windowed, InFlight: promql.Active, ThinkTime: promql.Measured},
	{Replicas: promql.Windowed, InFlight: promql.Completed, ThinkTime: 10 * time.Second},
	{Replicas: promql.Instant, InFlight: promql.Active, ThinkTime: time.Second},
}

func inMode(release string, mode promql.Params) promql.Params {
	p := promql.ForRelease(release, "cms")
	p.Replicas, p.InFlight, p.ThinkTime = mode.Replicas, mode.InFlight, mode.ThinkTime
	return p
}

// A steady load holds the terms of the formula, constant through the window.
type steady struct{ inFlight, serving, replicas float64 }

func randomLoad(rng *rand.Rand) steady {
	amount := func() float64 {
		if rng.IntN(8) == 0 {
			return 0
		}
		return math.Round(1000*math.Pow(10, 5*rng.Float64()-2)) / 1000 // 0.01 to 1000
	}
	return steady{amount(), amount(), float64(rng.IntN(12) * rng.IntN(12))}
}

// parts splits a number at random, in thousandths.
func parts(rng *rand.Rand, whole float64, n int) []float64 {
	left := math.Round(1000 * whole)
	split := make([]float64, n)
	for i := range n - 1 {
		split[i] = math.Floor(rng.Float64() * left)
		left -= split[i]
	}
	split[n-1] = left
	for i := range split {
		split[i] /= 1000
	}
	return split
}

// run spreads a load over Envoys, models and pods.
func (f *fleets) run(rng *rand.Rand, release string, l steady, envoys, models, pods int) {
	for i, part := range parts(rng, l.inFlight, envoys) {
		labels := fmt.Sprintf(`envoy_cluster_name="triton_grpc_service", pod="envoy-%d"`, i)
		f.series("envoy_cluster_membership_healthy", release, labels, fmt.Sprintf("%gx30", l.replicas))
		f.series("envoy_cluster_upstream_rq_time_sum", release, labels, fmt.Sprintf("0+%fx30", 10e3*part))
	}
	waiting := parts(rng, 1000*rng.Float64(), models*pods)
	for i, part := range parts(rng, l.serving, models*pods) {
		labels := fmt.Sprintf(`model="model-%d", pod="triton-%d"`, i%models, i/models)
		f.series("nv_inference_request_duration_us", release, labels, fmt.Sprintf("0+%fx30", 10e6*(part+waiting[i])))
		f.series("nv_inference_queue_duration_us", release, labels, fmt.Sprintf("0+%fx30", 10e6*waiting[i]))
	}
}

// TestFormula compares the answers with the arithmetic, for random loads that are
// spread over pods and models at random.
func TestFormula(t *testing.T) {
	rng := random(t)
	loads := map[string]steady{}
	var f fleets
	for i := range 300 {
		release := fmt.Sprint("r", i)
		loads[release] = randomLoad(rng)
		f.run(rng, release, loads[release], 1+rng.IntN(3), 1+rng.IntN(4), 1+rng.IntN(3))
	}
	series, eng := f.store(t), newEngine(t)
	for _, release := range slices.Sorted(maps.Keys(loads)) {
		l, mode := loads[release], modes[rng.IntN(4)] // those that read the completed requests, of clients that wait
		needed, ratio := neededAndRatio(t, eng, series, inMode(release, mode))
		replicas := max(l.replicas, 1)
		if want := l.inFlight / max(l.serving/replicas, 1); !near(needed, want) {
			t.Errorf("%+v: needed %g, want %g", l, needed, want)
		}
		if !near(ratio*replicas, needed) {
			t.Errorf("%+v: ratio %g for each of %g replicas, needed %g", l, ratio, replicas, needed)
		}
		if least := min(l.inFlight, l.replicas); l.inFlight >= l.serving && needed < least*(1-1e-9) {
			t.Errorf("%+v: needed %g, less than both what is in flight and what there is", l, needed)
		}
	}
}

// TestMonotone checks that more requests in flight never need fewer replicas.
func TestMonotone(t *testing.T) {
	rng := random(t)
	var f fleets
	for i := range 60 {
		l := randomLoad(rng)
		for rise := range 5 {
			f.run(rng, fmt.Sprintf("r%d-%d", i, rise), l, 1, 1, 1)
			l.inFlight += math.Round(1000*rng.Float64()) / 10
		}
	}
	series, eng := f.store(t), newEngine(t)
	for i := range 60 {
		var before float64
		for rise := range 5 {
			needed, _ := neededAndRatio(t, eng, series, promql.ForRelease(fmt.Sprintf("r%d-%d", i, rise), "cms"))
			if needed < before*(1-1e-9) {
				t.Errorf("fleet %d: needed falls from %g to %g with more in flight", i, before, needed)
			}
			before = needed
		}
	}
}

func neededAndRatio(t *testing.T, eng *engine.Engine, series storage.Queryable, p promql.Params) (needed, ratio float64) {
	t.Helper()
	var values []float64
	for _, build := range []func(promql.Params) (promql.Query, error){promql.NeededReplicas, promql.OccupancyRatio} {
		q, err := build(p)
		if err != nil {
			t.Fatal(err)
		}
		value, known := asked(t, eng, series, q)
		if !known {
			t.Fatalf("%s\n\tanswers with nothing", q)
		}
		values = append(values, value)
	}
	return values[0], values[1]
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }
