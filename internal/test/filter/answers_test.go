package filter_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// start loads the filter with the settings and a Prometheus that always gives one answer.
func start(t *testing.T, s filter.Settings, status int, body string) *filter.Filter {
	t.Helper()
	source, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	f := filter.New(t, source)
	if status == 0 {
		status = 200
	}
	f.Upstream = func(string, filter.Header, string) (filter.Header, string) {
		return filter.Header{":status": strconv.Itoa(status)}, body
	}
	return f
}

func call(t *testing.T, f *filter.Filter) *filter.Response {
	t.Helper()
	response, err := f.RepositoryIndex()
	if err != nil {
		t.Fatalf("the filter failed: %v", err)
	}
	return response
}

func TestAnswers(t *testing.T) {
	for _, a := range filter.Answers(t) {
		t.Run(a.Name, func(t *testing.T) {
			f := start(t, filter.Defaults(t), a.Status, a.Body)
			f.Tick(t)
			response := call(t, f)
			want := []string{"answer." + a.Kind, "outcome." + a.Outcome}
			if diff := cmp.Diff(want, f.Counted()); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			if refused := response != nil; refused != (a.Outcome == "refused") {
				t.Errorf("answered by the gate: %v, want outcome %s", response, a.Outcome)
			}
			if a.LoadMilli != nil && f.Gauges["load_milli"] != float64(*a.LoadMilli) {
				t.Errorf("load_milli: %v, want %d", f.Gauges["load_milli"], *a.LoadMilli)
			}
			if len(f.Errors) > 0 {
				t.Errorf("logged: %q", f.Errors)
			}
		})
	}
}

// With closed, calls are refused after any answer that is not a load.
func TestAnswersWhenClosed(t *testing.T) {
	for _, a := range filter.Answers(t) {
		t.Run(a.Name, func(t *testing.T) {
			f := start(t, filter.Defaults(t).With("limiter.unknownLoad", "closed"), a.Status, a.Body)
			f.Tick(t)
			response := call(t, f)
			if refused := response != nil; refused != (a.Outcome != "allowed") {
				t.Errorf("answered by the gate: %v, want outcome %s", response, a.Outcome)
			}
		})
	}
}
