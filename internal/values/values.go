// Package values reads what the two queries and their thresholds depend on from
// a chart's values, as chart/templates/_scaling.tpl does. The two are read side
// by side and changed together.
package values

import (
	"errors"
	"fmt"

	"github.com/fastmachinelearning/supersonic/promql"
)

// Scaling is what a user's values say about the two queries.
type Scaling struct {
	Params     promql.Params     // of the built-in queries
	Thresholds promql.Thresholds // what KEDA and the gate compare with
	Metric     promql.Query      // a user's own query; the zero Query with the built-in ones
}

// A KeyError is a fault of one value.
type KeyError struct {
	Key string // as the user writes it: serverLoadRateInterval
	Err error  // what it must be, and what it is
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap gives what is wrong, without the key.
func (e *KeyError) Unwrap() error { return e.Err }

// KeyErrors are the faults that the error of [Read] joins.
func KeyErrors(err error) []*KeyError { return joined[*KeyError](err) }

// joined are the errors of one type in the result of errors.Join.
func joined[T error](err error) []T {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var found []T
	for _, err := range all.Unwrap() {
		var t T
		if errors.As(err, &t) {
			found = append(found, t)
		}
	}
	return found
}

// Read takes all values: a user's, laid over the chart's. The error joins every
// fault as a [*KeyError].
func Read(vals map[string]any, release, namespace string) (Scaling, error) {
	r := reader{vals: vals}
	instance := release
	if name := r.text("nameOverride"); name != "" {
		instance = name
	}
	s := Scaling{Params: promql.ForRelease(instance, namespace)}
	if text := r.text("serverLoadMetric"); text != "" {
		s.Metric = r.query("serverLoadMetric", text)
	}
	s.Params.RateInterval = r.duration("serverLoadRateInterval")
	s.Params.Replicas = promql.Replicas(r.text("serverLoadReplicas"))
	s.Params.InFlight = promql.InFlight(r.text("serverLoadInFlight"))
	s.Params.ExcludeModels = r.texts("serverLoadExcludeModels")
	r.selector("serverLoadSelector.envoy", &s.Params.Envoy)
	r.selector("serverLoadSelector.triton", &s.Params.Triton)
	s.Thresholds.Scaling = r.number("serverLoadThreshold")
	s.Thresholds.Admission = s.admission(&r)
	r.check(s)
	return s, errors.Join(r.errs...)
}

// admission is the gate's threshold: the user's, or, in its place, one above the
// scaling threshold for the built-in query and the same for a user's own, of
// which nothing is known.
func (s Scaling) admission(r *reader) float64 {
	const key = "serverAdmissionThreshold"
	switch {
	case r.set(key):
		return r.number(key)
	case s.Custom():
		return s.Thresholds.Scaling
	}
	return promql.AdmissionFor(s.Thresholds.Scaling)
}

// Custom says whether the metric is the user's own.
func (s Scaling) Custom() bool { return s.Metric.String() != "" }

// NeededReplicas is the query that sizes the fleet.
func (s Scaling) NeededReplicas() (promql.Query, error) {
	if s.Custom() {
		return s.Metric, nil
	}
	return promql.NeededReplicas(s.Params)
}

// OccupancyRatio is the query that the gate asks.
func (s Scaling) OccupancyRatio() (promql.Query, error) {
	if s.Custom() {
		return s.Metric, nil
	}
	return promql.OccupancyRatio(s.Params)
}

// keys are the users' names of the fields of promql.Params and promql.Thresholds.
var keys = map[string]string{
	"rateInterval":  "serverLoadRateInterval",
	"replicas":      "serverLoadReplicas",
	"inFlight":      "serverLoadInFlight",
	"excludeModels": "serverLoadExcludeModels",
	"scaling":       "serverLoadThreshold",
	"admission":     "serverAdmissionThreshold",
}

// check adds what the library says, in the users' names, about values that have
// been read.
func (r *reader) check(s Scaling) {
	thresholds := s.Thresholds
	tied := !s.Custom() && r.on("envoy.rate_limiter.prometheus_based.enabled")
	if !tied && thresholds.Admission >= promql.MinThreshold {
		thresholds.Admission = max(thresholds.Admission, promql.AdmissionFor(thresholds.Scaling))
	}
	faults := joined[*promql.FieldError](s.Params.Validate())
	faults = append(faults, joined[*promql.FieldError](thresholds.Validate())...)
	for _, f := range faults {
		if key := keys[f.Field]; !r.bad[key] {
			r.fault(key, "%w", f.Err)
		}
	}
}

func (r *reader) fault(key, format string, args ...any) {
	if r.bad == nil {
		r.bad = map[string]bool{}
	}
	r.bad[key] = true
	r.errs = append(r.errs, &KeyError{key, fmt.Errorf(format, args...)})
}
