package ab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// An Outcome is the summary of one run of one arm under one load.
type Outcome struct {
	Load      string         `json:"load"`
	Arm       string         `json:"arm"`
	Run       int            `json:"run"`
	Date      string         `json:"date"`
	Seconds   float64        `json:"seconds"` // that the load lasted
	Completed int            `json:"completed"`
	Failed    int            `json:"failed"`
	P50       float64        `json:"p50"` // seconds, as are the other quantiles
	P90       float64        `json:"p90"`
	P99       float64        `json:"p99"`
	Mean      float64        `json:"mean"`      // response time in seconds
	Latencies []Latency      `json:"latencies"` // of each interval with a completed request
	Course    []cluster.Size `json:"course"`
}

// A Latency is the 90th percentile of the requests that ended in an interval.
type Latency struct {
	At  float64 `json:"at"` // seconds, the middle of the interval
	P90 float64 `json:"p90"`
}

// interval of a latency curve.
const interval = 10 * time.Second

func newOutcome(calls load.Result, course []cluster.Size) Outcome {
	o := Outcome{
		Seconds:   calls.Lasted.Seconds(),
		Completed: calls.Completed(),
		Failed:    len(calls.Failed()),
		P50:       calls.Quantile(0.5).Seconds(),
		P90:       calls.Quantile(0.9).Seconds(),
		P99:       calls.Quantile(0.99).Seconds(),
		Mean:      calls.Mean().Seconds(),
		Course:    course,
	}
	for from := time.Duration(0); from < calls.Lasted; from += interval {
		if part := calls.Between(from, from+interval); part.Completed() > 0 {
			o.Latencies = append(o.Latencies, Latency{(from + interval/2).Seconds(), part.Quantile(0.9).Seconds()})
		}
	}
	return o
}

// end of the load, since its start.
func (o Outcome) end() time.Duration { return time.Duration(o.Seconds * float64(time.Second)) }

// keep writes an outcome's file, whole or not at all.
func (o Outcome) keep(path string) error {
	data, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
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
