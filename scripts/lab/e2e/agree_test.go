package e2e

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/images"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// tolerance of a comparison with Envoy's clock, which counts whole
// milliseconds, in bins.
const tolerance = 0.15

// agree evaluates both rendered queries with promtool and compares them with what
// the clients recorded over the last minute, served by that many replicas. Of the
// execution time, clients know only a lower bound: the models' own time. It returns
// the value that KEDA reads.
func (f fleet) agree(replicas float64, runs ...*load.Run) (neededReplicas float64) {
	f.t.Helper()
	needed, ratio, err := f.rendered(f.t.Context())
	must(f.t, err)
	f.await(30*time.Second, "the clients' numbers in both queries", func(ctx context.Context) error {
		var got [3]float64
		for i, expr := range []string{needed, ratio, "supersonic:serving_requests"} {
			var err error
			if got[i], err = f.promtool(ctx, expr); err != nil {
				return err
			}
		}
		inFlight, least := bookkeeping(runs)
		serving := got[2]
		if serving < 0.95*least || serving > 1.05*2*replicas {
			return fmt.Errorf("%.2f requests served at once, want %.2f to %.2f", serving, least, 2*replicas)
		}
		ratio := inFlight / max(serving, replicas)
		if far(got[0], ratio*replicas) || far(got[1], ratio) {
			return fmt.Errorf("needed replicas %.2f, want %.2f; occupancy ratio %.2f, want %.2f",
				got[0], ratio*replicas, got[1], ratio)
		}
		f.t.Logf("%.2f in flight by the clients; %.2f served at once, at least %.2f; needed replicas %.2f, occupancy ratio %.2f",
			inFlight, serving, least, got[0], got[1])
		neededReplicas = got[0]
		return nil
	})
	return neededReplicas
}

func far(got, want float64) bool { return math.Abs(got-want) > tolerance*want }

// bookkeeping is the mean number of requests in flight over the last minute, and
// the mean number that executed, if each took just its model's time.
func bookkeeping(runs []*load.Run) (inFlight, serving float64) {
	for _, run := range runs {
		r := run.SoFar()
		// Calls that have not ended are not recorded, so leave out the last second.
		from, to := r.Lasted-61*time.Second, r.Lasted-time.Second
		inFlight += r.InFlight(from, to)
		for name, text := range images.Models {
			seconds, _ := strconv.ParseFloat(text, 64)
			serving += seconds * float64(r.Of(name).Between(from, to).Completed()) / (to - from).Seconds()
		}
	}
	return inFlight, serving
}

// gateQuery is the query in the gate's table, a long literal of Lua.
var gateQuery = regexp.MustCompile(`(?s)\n\s+query = \[=*\[\n(.*?)\]=*\],\n`)

// rendered returns the queries of KEDA and of the gate.
func (f fleet) rendered(ctx context.Context) (needed, ratio string, err error) {
	needed, err = lab.Kubectl(ctx, "", "--namespace", f.Namespace, "get", "scaledobjects.keda.sh", "-o",
		`jsonpath={.items[0].spec.triggers[?(@.name=="load")].metadata.query}`)
	if err != nil {
		return "", "", err
	}
	gate, err := lab.Kubectl(ctx, "", "--namespace", f.Namespace, "get", "configmap", f.Name+"-lua-config", "-o",
		`jsonpath={.data.gate\.yaml}`)
	if err != nil {
		return "", "", err
	}
	found := gateQuery.FindStringSubmatch(gate)
	if found == nil {
		return "", "", fmt.Errorf("%s-lua-config: gate.yaml has no query", f.Name)
	}
	return needed, found[1], nil
}
