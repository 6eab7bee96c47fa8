package ab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
)

// Measures are the numbers that are compared.
type Measures struct {
	ReplicaMinutes float64
	Completed      float64
	Failed         float64
	P50, P90, P99  float64 // seconds
	Changes        float64 // of the wanted size
	Overshoot      float64 // replicas above the ideal size
	Steady         float64 // seconds at the last size, until the end
}

// Measure reads one outcome of a load.
func (l Load) Measure(o Outcome) Measures {
	end := o.Calls.Lasted
	changes := cluster.Changes(o.Course)
	m := Measures{
		ReplicaMinutes: cluster.ReplicaSeconds(o.Course, end) / 60,
		Completed:      float64(o.Calls.Completed()),
		Failed:         float64(len(o.Calls.Failed())),
		P50:            o.Calls.Quantile(0.5).Seconds(),
		P90:            o.Calls.Quantile(0.9).Seconds(),
		P99:            o.Calls.Quantile(0.99).Seconds(),
	}
	if n := len(changes); n > 0 {
		m.Changes = float64(n - 1)
		m.Overshoot = max(0, float64(slices.Max(changes))-float64(l.Ideal))
	}
	m.Steady = (end - lastChange(o.Course)).Seconds()
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

// Read reads all outcomes in a folder.
func Read(dir string) ([]Outcome, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var all []Outcome
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var o Outcome
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, o)
	}
	return all, nil
}
