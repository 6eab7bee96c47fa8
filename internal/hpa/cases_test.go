package hpa_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

// A history is a file of testdata/cases: a ScaledObject, and the steps that its fleet goes through.
type history struct {
	Spec  map[string]any // of the ScaledObject
	Fleet fleet          // at the start
	Steps []step
}

// fleet has only the numbers that differ from those of a fleet whose pods are all ready.
type fleet struct{ Spec, Status, Ready, Terminating *int32 }

// A step is a poll of KEDA or a sync of the HPA.
type step struct {
	At, Until, Every string // a step with until repeats every 15s, or at the interval of every
	Poll, Sync       []any  // an answer for each trigger: a number, empty or failed
	Fleet            fleet
	Want             int32
	Shows            []int64 // thousandths, as in the status of the HPA
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var h history
			if err := yaml.UnmarshalStrict(text, &h); err != nil {
				t.Fatal(err)
			}
			h.run(t)
		})
	}
}

func (h history) run(t *testing.T) {
	t.Helper()
	manifest, err := yaml.Marshal(map[string]any{"kind": "ScaledObject", "spec": h.Spec})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := hpa.Read(manifest)
	if err != nil {
		t.Fatal(err)
	}
	scaler, err := hpa.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	size := *h.Fleet.Spec
	for _, s := range h.Steps {
		from := duration(t, s.At, 0)
		for at := from; at <= duration(t, s.Until, from); at += duration(t, s.Every, hpa.SyncPeriod) {
			size = s.take(t, scaler, at, size)
			if size != s.Want {
				t.Fatalf("at %v: %d replicas, want %d", at, size, s.Want)
			}
		}
	}
}

func (s step) take(t *testing.T, scaler *hpa.Scaler, at time.Duration, size int32) int32 {
	t.Helper()
	size = or(s.Fleet.Spec, size)
	f := hpa.Fleet{
		Spec: size, Status: or(s.Fleet.Status, size), Ready: or(s.Fleet.Ready, size), Terminating: or(s.Fleet.Terminating, 0),
	}
	if s.Poll != nil {
		return scaler.Poll(at, answers(t, s.Poll), f)
	}
	d := scaler.Sync(at, answers(t, s.Sync), f)
	if s.Shows != nil {
		var shown []int64
		for _, m := range d.Metrics {
			shown = append(shown, m.Current)
		}
		if diff := cmp.Diff(s.Shows, shown); diff != "" {
			t.Errorf("at %v: shows (-want +got)\n%s", at, diff)
		}
	}
	return d.Replicas
}

func answers(t *testing.T, given []any) []hpa.Answer {
	t.Helper()
	var all []hpa.Answer
	for _, a := range given {
		switch v := a.(type) {
		case float64:
			all = append(all, hpa.Answer{Value: v})
		case string:
			if v != "empty" && v != "failed" {
				t.Fatalf("answer: must be a number, empty or failed, got %s", v)
			}
			answer := hpa.Answer{Empty: v == "empty"}
			if v == "failed" {
				answer.Err = errors.New("no answer")
			}
			all = append(all, answer)
		}
	}
	return all
}

func duration(t *testing.T, text string, other time.Duration) time.Duration {
	t.Helper()
	if text == "" {
		return other
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func or(p *int32, other int32) int32 {
	if p == nil {
		return other
	}
	return *p
}
