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
	o := newOutcome(load.Result{Lasted: 4 * time.Minute, Calls: []load.Call{
		{Model: "fast", Took: time.Second}, {Model: "slow", Took: 3 * time.Second}, {Model: "slow", Err: "gone"},
	}}, []cluster.Size{
		{At: 0, Wanted: 1, Pods: 1, Ready: 1},
		{At: 60 * time.Second, Wanted: 6, Pods: 6, Ready: 1},
		{At: 70 * time.Second, Wanted: 6, Pods: 6, Ready: 6},
		{At: 120 * time.Second, Wanted: 4, Pods: 4, Ready: 4},
	})
	o.Load, o.Arm, o.Run, o.Date = "step-16", arm, run, "2026-01-31"
	return o
}

func TestMeasures(t *testing.T) {
	want := Measures{
		ReplicaMinutes: 1 + 6 + 8, Completed: 2, Failed: 1, Mean: 2, P50: 3, P90: 3, P99: 3,
		Changes: 2, Overshoot: 2, Steady: 120,
	}
	if diff := cmp.Diff(want, Loads[0].Measure(outcome("built-in", 0))); diff != "" {
		t.Errorf("measures mismatch (-want +got):\n%s", diff)
	}
}

// The page is made from the summaries in the repository, on any machine.
func TestSummaryIsReadBack(t *testing.T) {
	dir := t.TempDir()
	want := outcome("built-in", 1)
	if err := want.keep(file(dir, want.Load, want.Arm, want.Run)); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Outcome{want}, got); diff != "" {
		t.Errorf("summary mismatch (-want +got):\n%s", diff)
	}
}

func TestArmsOfLoads(t *testing.T) {
	for _, l := range Loads {
		if len(l.arms()) != len(l.Arms) {
			t.Errorf("%s: arms %v, of which only %d exist", l.Name, l.Arms, len(l.arms()))
		}
	}
}

func TestReportNamesArms(t *testing.T) {
	second := outcome("built-in", 1)
	second.Completed = 1
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
	silent := newOutcome(load.Result{Lasted: time.Minute}, nil)
	silent.Load, silent.Arm = "step-16", "measured"
	if r, err = NewReport([]Outcome{silent}, ""); err != nil || strings.Contains(strings.Join(r.Loads[0].Rows[0].Cells, " "), "NaN") {
		t.Errorf("a run without an answer: %+v: %v", r.Loads, err)
	}
	if strings.Contains(page.String(), "open-step") {
		t.Error("the report names a load that was not run")
	}
}
