package ab

import (
	"fmt"
	"slices"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
)

// Measures are the numbers that are compared.
type Measures struct {
	ReplicaMinutes float64
	Completed      float64
	Failed         float64
	Mean           float64 // seconds, as are the quantiles
	P50, P90, P99  float64
	Changes        float64 // of the wanted size
	Overshoot      float64 // replicas above the ideal size
	Steady         float64 // seconds at the last size, until the end
}

// Measure reads one outcome of a load.
func (l Load) Measure(o Outcome) Measures {
	changes := cluster.Changes(o.Course)
	m := Measures{
		ReplicaMinutes: cluster.ReplicaSeconds(o.Course, o.end()) / 60,
		Completed:      float64(o.Completed),
		Failed:         float64(o.Failed),
		Mean:           o.Mean,
		P50:            o.P50,
		P90:            o.P90,
		P99:            o.P99,
	}
	if n := len(changes); n > 0 {
		m.Changes = float64(n - 1)
		m.Overshoot = max(0, float64(slices.Max(changes))-float64(l.Ideal))
	}
	m.Steady = (o.end() - lastChange(o.Course)).Seconds()
	return m
}

// lastChange of the wanted size.
func lastChange(course []cluster.Size) time.Duration {
	at := time.Duration(0)
	for i := 1; i < len(course); i++ {
		if course[i].Wanted != course[i-1].Wanted {
			at = course[i].At
		}
	}
	return at
}

func (l Load) summary(o Outcome) string {
	m := l.Measure(o)
	return fmt.Sprintf("%.1f replica-minutes, %.0f completed, %.0f failed, p50 %.3f p90 %.3f p99 %.3f s, sizes %v",
		m.ReplicaMinutes, m.Completed, m.Failed, m.P50, m.P90, m.P99, cluster.Changes(o.Course))
}
