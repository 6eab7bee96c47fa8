package promql_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/promql"
)

// The text has a line for each error.
func TestFieldErrorsLines(t *testing.T) {
	var errs promql.FieldErrors
	if err := errs.Err(); err != nil {
		t.Errorf("no errors give the error %v", err)
	}
	errs.Add("a.b", nil)
	errs.Addf("a.b", "must be at least %d, got %d", 1, 0)
	errs.Add("", errors.New("must be one document"))
	errs.Add("c[0]", errors.Join(errors.New("must not be empty"), errors.New("must be a string, got 1")))
	want := "a.b: must be at least 1, got 0\nmust be one document\nc[0]: must not be empty\nc[0]: must be a string, got 1"
	if diff := cmp.Diff(want, errs.Err().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A caller finds all errors, their fields and their causes, also when they are wrapped.
func TestFieldErrorsAs(t *testing.T) {
	var errs promql.FieldErrors
	errs.Addf("first", "must be set")
	errs.Add("second", fmt.Errorf("%w", fs.ErrNotExist))
	err := fmt.Errorf("values.yaml: %w", errors.Join(errors.New("other"), errs.Err()))

	var all promql.FieldErrors
	if !errors.As(err, &all) || len(all) != 2 {
		t.Errorf("FieldErrors of %v: got %v", err, all)
	}
	var one *promql.FieldError
	if !errors.As(err, &one) || one.Field != "first" {
		t.Errorf("FieldError of %v: got %v", err, one)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v hides its cause", err)
	}
}

// AddOthers gives each error the name that users know, and leaves out fields that are already invalid.
func TestAddOthers(t *testing.T) {
	var errs promql.FieldErrors
	errs.Addf("--rate-interval", "must be a duration")
	p := promql.ForRelease("sonic", "cms")
	p.RateInterval, p.Replicas, p.ExcludeModels = 0, "all", []string{"", ""}
	errs.AddOthers(fmt.Errorf("wrapped: %w", p.Validate()), map[string]string{"rateInterval": "--rate-interval", "replicas": "--replicas"})
	errs.AddOthers(nil, nil)
	var fields []string
	for _, e := range errs {
		fields = append(fields, e.Field)
	}
	if diff := cmp.Diff([]string{"--rate-interval", "--replicas", "excludeModels", "excludeModels"}, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestSelectorOr(t *testing.T) {
	chart := promql.ForRelease("sonic", "cms").Envoy
	own := promql.Selector{}.With("job", "envoy")
	for _, test := range []struct {
		name    string
		s, want promql.Selector
	}{{"own-matchers", own, own}, {"no-matchers", promql.Selector{}, chart}} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.s.Or(chart); !got.Equal(test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
