// Package values reads the parameters of the two queries and their thresholds from
// a chart's values, as chart/templates/_scaling.tpl does. Both must be changed
// together.
package values

import "github.com/fastmachinelearning/supersonic/promql"

// Scaling holds what the values set for the two queries.
type Scaling struct {
	Params     promql.Params     // of the built-in queries
	Thresholds promql.Thresholds // of KEDA and of the gate
	Metric     promql.Query      // a user's own query; the zero Query with the built-in ones
}

// Read reads the values of a user merged over the chart's. The error is
// [promql.FieldErrors], with the keys of the values.
func Read(vals map[string]any, release, namespace string) (Scaling, error) {
	r := reader{vals: vals}
	instance := release
	if name := r.str("nameOverride"); name != "" {
		instance = name
	}
	s := Scaling{Params: promql.ForRelease(instance, namespace)}
	if text := r.str("serverLoadMetric"); text != "" {
		s.Metric = r.query("serverLoadMetric", text)
	}
	s.Params.RateInterval = r.duration("serverLoadRateInterval")
	s.Params.Replicas = promql.Replicas(r.str("serverLoadReplicas"))
	s.Params.InFlight = promql.InFlight(r.str("serverLoadInFlight"))
	s.Params.ExcludeModels = r.strings("serverLoadExcludeModels")
	s.Params.Envoy = r.selector("serverLoadSelector.envoy", s.Params.Envoy)
	s.Params.Triton = r.selector("serverLoadSelector.triton", s.Params.Triton)
	s.Thresholds.Scaling = r.number("serverLoadThreshold")
	s.Thresholds.Admission = s.admission(&r)
	s.Params.Threshold = s.Thresholds.Scaling
	r.thinking(&s.Params)
	r.check(s)
	return s, r.errs.Err()
}

// thinking reads the parameters for clients that think between their requests.
func (r *reader) thinking(p *promql.Params) {
	const key = "serverLoadThinkTime"
	p.Utilization = r.number("serverLoadUtilization")
	if r.str(key) == "measured" {
		p.ThinkTime, p.InFlight = promql.Measured, promql.Active
		return
	}
	p.ThinkTime = r.duration(key)
}

// admission is the gate's threshold: the user's or, by default, one above the
// scaling threshold with the built-in query, and the scaling threshold itself with
// a custom metric, whose scale is unknown.
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

// Custom reports whether the metric is a custom one.
func (s Scaling) Custom() bool { return s.Metric.String() != "" }

// Query builds a query of the catalogue. A custom metric replaces the queries that
// are compared with a threshold.
func (s Scaling) Query(q promql.Named) (promql.Query, error) {
	if s.Custom() && q.Threshold != nil {
		return s.Metric, nil
	}
	return q.Build(s.Params)
}

// keys maps fields of promql.Params and promql.Thresholds to keys of the values.
var keys = map[string]string{
	"rateInterval":  "serverLoadRateInterval",
	"replicas":      "serverLoadReplicas",
	"inFlight":      "serverLoadInFlight",
	"excludeModels": "serverLoadExcludeModels",
	"thinkTime":     "serverLoadThinkTime",
	"utilization":   "serverLoadUtilization",
	"threshold":     "serverLoadThreshold",
	"scaling":       "serverLoadThreshold",
	"admission":     "serverAdmissionThreshold",
}

// check adds the library's errors about the values, with the users' keys.
func (r *reader) check(s Scaling) {
	thresholds := s.Thresholds
	tied := !s.Custom() && r.on("envoy.rate_limiter.prometheus_based.enabled")
	if !tied && thresholds.Admission >= promql.MinThreshold {
		thresholds.Admission = max(thresholds.Admission, promql.AdmissionFor(thresholds.Scaling))
	}
	r.errs.AddOthers(s.Params.Validate(), keys)
	r.errs.AddOthers(thresholds.Validate(), keys)
}
