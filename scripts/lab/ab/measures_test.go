package ab

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

func outcome(arm string, run int) Outcome {
	return Outcome{
		Load: "step-16", Arm: arm, Run: run, Date: "2026-01-31",
		Course: []cluster.Size{
			{At: 0, Wanted: 1, Pods: 1, Ready: 1},
			{At: 60 * time.Second, Wanted: 6, Pods: 6, Ready: 1},
			{At: 70 * time.Second, Wanted: 6, Pods: 6, Ready: 6},
			{At: 120 * time.Second, Wanted: 4, Pods: 4, Ready: 4},
		},
		Calls: load.Result{Lasted: 4 * time.Minute, Calls: []load.Call{
			{Model: "fast", Took: time.Second}, {Model: "slow", Took: 3 * time.Second}, {Model: "slow", Err: "gone"},
		}},
	}
}

func TestMeasures(t *testing.T) {
	want := Measures{
		ReplicaMinutes: 1 + 6 + 8, Completed: 2, Failed: 1, P50: 3, P90: 3, P99: 3,
		Changes: 2, Overshoot: 2, Steady: 120,
	}
	if diff := cmp.Diff(want, Loads[0].Measure(outcome("built-in", 0))); diff != "" {
		t.Errorf("measures mismatch (-want +got):\n%s", diff)
	}
}

func TestReportNamesEveryArmThatRan(t *testing.T) {
	second := outcome("built-in", 1)
	second.Calls.Calls = second.Calls.Calls[:1]
	r, err := NewReport([]Outcome{outcome("built-in", 0), second, outcome("fixed", 0)}, "Triton 2.51")
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.Write(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h2>step-16</h2>", "built-in", "fixed", "Runs of 2026-01-31. Triton 2.51.",
		"2 (1 to 2)", "<svg", "</html>",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	silent := outcome("instant", 0)
	silent.Calls.Calls, silent.Course = nil, nil
	if r, err = NewReport([]Outcome{silent}, ""); err != nil || strings.Contains(strings.Join(r.Loads[0].Rows[0].Cells, " "), "NaN") {
		t.Errorf("a run without an answer: %+v: %v", r.Loads, err)
	}
	if strings.Contains(page.String(), "open-step") {
		t.Error("the report names a load that was not run")
	}
}
