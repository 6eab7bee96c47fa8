package upstream

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

var (
	histories = flag.Int("histories", 5000, "random histories to compare")
	seed      = flag.Uint64("seed", 1, "of the first history")
)

const (
	together = 50 // histories in one cluster
	steps    = 60 // of a history
)

func TestMain(m *testing.M) {
	// The default handlers wait on the clock that the test controls.
	utilruntime.ErrorHandlers = nil
	klog.SetLogger(logr.Discard())
	if err := feature.DefaultMutableFeatureGate.Set("HPAConfigurableTolerance=true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// The HPA's own controller, with its own queue and a clock that stands still while it works, and internal/hpa scale the
// same random fleets over random histories.
func TestSizesAreThoseOfKubernetes(t *testing.T) {
	n := *histories
	if testing.Short() {
		n = min(n, 500)
	}
	seen := map[string]int{}
	for first := 0; first < n && !t.Failed(); first += together {
		synctest.Test(t, func(t *testing.T) { compare(t, *seed+uint64(first), min(together, n-first), seen) })
	}
	t.Logf("%d histories of %d steps: %v", n, steps, seen)
	for _, what := range []string{"grew", "shrank", "stayed", "could not be read"} {
		if seen[what] < n {
			t.Errorf("%d steps %s, which is too few to compare", seen[what], what)
		}
	}
}

// compare runs some histories side by side. The seed of a history is the first seed plus its index.
func compare(t *testing.T, seed uint64, n int, seen map[string]int) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer func() { cancel(); synctest.Wait() }()
	period := pick(rand.New(rand.NewPCG(seed, 0)), 15*time.Second, 15*time.Second, 5*time.Second, 7500*time.Millisecond)
	c := newCluster()
	all := make([]*run, n)
	for i := range all {
		all[i] = newRun(t, c, seed+uint64(i))
	}
	if err := c.start(ctx, period); err != nil {
		t.Fatal(err)
	}
	time.Sleep(period / 2)
	for step := range steps {
		now := time.Duration(step+1) * period
		for _, r := range all {
			r.prepare(now)
		}
		time.Sleep(period)
		synctest.Wait()
		for _, r := range all {
			r.check(t, now, seen)
		}
	}
}

// A run is one history: a namespace of the cluster, and a scaler of internal/hpa.
type run struct {
	seed   uint64
	random *rand.Rand
	spec   hpa.Spec
	world  *world
	scaler *hpa.Scaler
	worth  float64 // replicas that the load needs
	before hpa.Fleet
	want   hpa.Decision
}

func newRun(t *testing.T, c *cluster, seed uint64) *run {
	t.Helper()
	r := &run{seed: seed, random: rand.New(rand.NewPCG(seed, 1))}
	r.spec = randomSpec(r.random)
	var err error
	if r.scaler, err = hpa.New(r.spec); err != nil {
		t.Fatal(err)
	}
	start := hpa.Fleet{Spec: int32(r.random.IntN(int(r.spec.Max) + 2))}
	if r.world, err = c.add(fmt.Sprintf("seed-%d", seed), r.spec, start); err != nil {
		t.Fatal(err)
	}
	return r
}

// prepare sets up the next step and scales it.
func (r *run) prepare(now time.Duration) {
	w := r.world
	w.fleet = randomFleet(r.random, w.fleet, r.spec)
	if r.random.IntN(6) == 0 {
		r.worth = pick(r.random, 0, 1, r.worth/2, r.worth*1.5, float64(r.random.IntN(int(r.spec.Max)+3)), min(50*r.worth, 1e4))
	}
	w.answers = randomAnswers(r.random, r.spec, w.fleet, r.worth)
	w.pods = podsFor(fmt.Sprintf("seed-%d", r.seed), w.fleet)
	r.before = w.fleet
	r.want = r.scaler.Sync(now, w.answers, w.fleet)
}

// check compares the size, and what `kubectl get hpa` shows.
func (r *run) check(t *testing.T, now time.Duration, seen map[string]int) {
	t.Helper()
	got := r.world.fleet.Spec
	if got != r.want.Replicas {
		t.Fatalf("seed %d at %v: %d replicas, Kubernetes makes it %d\nspec %+v\nfleet %+v\nanswers %+v\nmetrics %+v",
			r.seed, now, r.want.Replicas, got, r.spec, r.before, r.world.answers, r.want.Metrics)
	}
	shown := r.world.status.CurrentMetrics
	for i, m := range r.want.Metrics {
		if m.Err != nil {
			seen["could not be read"]++
			continue
		}
		current := shown[i].External.Current
		quantity := current.AverageValue
		if current.Value != nil {
			quantity = current.Value
		}
		if r.before.Status > 0 && quantity.MilliValue() != m.Current {
			t.Fatalf("seed %d at %v: trigger %d shows %dm, Kubernetes %v", r.seed, now, i, m.Current, quantity)
		}
	}
	switch {
	case got > r.before.Spec:
		seen["grew"]++
	case got < r.before.Spec:
		seen["shrank"]++
	default:
		seen["stayed"]++
	}
}
