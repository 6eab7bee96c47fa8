package promql

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
)

// DefaultRateInterval is the range of every rate and mean of [ForRelease].
const DefaultRateInterval = time.Minute

// maxRateInterval is far above use; Prometheus' parser reads intervals of more
// than a hundred days with less than a millisecond's precision.
const maxRateInterval = 30 * 24 * time.Hour

// Replicas says how the number of healthy replicas is read.
type Replicas string

const (
	// Windowed is the mean over the rate interval, the same window as that of
	// the other two terms.
	Windowed Replicas = "windowed"
	// Instant is the last sample: after a scale-up it runs ahead of the other
	// terms by up to a rate interval.
	Instant Replicas = "instant"
)

// InFlight says how the requests in flight are measured.
type InFlight string

const (
	// Completed uses the time of completed requests: exact on average, and late by
	// the duration of a request.
	Completed InFlight = "completed"
	// Larger is the larger of Completed and the mean of the gauge of active
	// requests, which sees long and stalled requests while they run.
	Larger InFlight = "larger"
	// Active is the mean of the gauge of active requests alone. Unlike Completed it
	// does not read more while a backlog drains.
	Active InFlight = "active"
)

// Measured, as a think time, counts the clients that think: connections to Envoy
// less the requests in flight. It needs [Active]. Clients that send many requests
// over one connection are seen as clients that wait.
const Measured time.Duration = -1

// DefaultUtilization is the utilization of [ForRelease].
const DefaultUtilization = 0.9

// Params are the parameters of the queries.
type Params struct {
	Envoy         Selector      // series of the Envoy pods
	Triton        Selector      // series of the Triton pods
	RateInterval  time.Duration // range of every rate and mean; whole milliseconds
	Replicas      Replicas      // Windowed or Instant
	InFlight      InFlight      // Completed, Larger or Active
	ExcludeModels []string      // models left out of serving: ensembles, parents of BLS calls

	// ThinkTime is the time between a client's requests: 0 where clients do nothing
	// but wait, or Measured. The two fields below are read only with one.
	ThinkTime   time.Duration
	Utilization float64 // room for the requests of clients that think, in (0, 1]; 1 keeps none
	Threshold   float64 // scaling threshold that the answer is divided by
}

// ForRelease returns the chart's defaults for one release in one namespace.
func ForRelease(release, namespace string) Params {
	s := Selector{}.With(releaseLabel, release).With(namespaceLabel, namespace)
	return Params{
		Envoy:        s,
		Triton:       s,
		RateInterval: DefaultRateInterval,
		Replicas:     Windowed,
		InFlight:     Completed,
		Utilization:  DefaultUtilization,
		Threshold:    DefaultScaling,
	}
}

// Validate reports every invalid field, as [FieldErrors].
func (p Params) Validate() error {
	var errs FieldErrors
	switch w := p.RateInterval; {
	case w < time.Millisecond:
		errs.Addf("rateInterval", "must be at least 1ms, got %s", w)
	case w > maxRateInterval:
		errs.Addf("rateInterval", "must be at most %s, got %s", maxRateInterval, w)
	case w%time.Millisecond != 0:
		errs.Addf("rateInterval", "must be an integer number of milliseconds, got %s", w)
	}
	if p.Replicas != Windowed && p.Replicas != Instant {
		errs.Addf("replicas", "must be %s or %s, got %q", Windowed, Instant, p.Replicas)
	}
	if p.InFlight != Completed && p.InFlight != Larger && p.InFlight != Active {
		errs.Addf("inFlight", "must be %s, %s or %s, got %q", Completed, Larger, Active, p.InFlight)
	}
	p.validateThinking(&errs)
	for i, name := range p.ExcludeModels {
		if name == "" {
			errs.Addf("excludeModels", "must not contain an empty name, got one at position %d", i)
		} else if slices.Index(p.ExcludeModels, name) < i {
			errs.Addf("excludeModels", "must not repeat a model, got %q again at position %d", name, i)
		}
	}
	return errs.Err()
}

// maxThinkTime is far above use: such a client is idle.
const maxThinkTime = 24 * time.Hour

func (p Params) validateThinking(errs *FieldErrors) {
	if p.ThinkTime == 0 {
		return
	}
	switch z := p.ThinkTime; {
	case z == Measured && p.InFlight != Active:
		errs.Addf("inFlight", "must be %s where the think time is measured, got %q", Active, p.InFlight)
	case z != Measured && z < 0, z > maxThinkTime:
		errs.Addf("thinkTime", "must be from 0s to %s, got %s", model.Duration(maxThinkTime), z)
	case z != Measured && z%time.Millisecond != 0:
		errs.Addf("thinkTime", "must be an integer number of milliseconds, got %s", z)
	}
	if !(p.Utilization > 0 && p.Utilization <= 1) {
		errs.Addf("utilization", "must be above 0 and at most 1, got %g", p.Utilization)
	}
	if !(p.Threshold >= MinThreshold) || math.IsInf(p.Threshold, 1) {
		errs.Addf("threshold", "must be a number of at least %g, got %g", MinThreshold, p.Threshold)
	}
}

// MinRateInterval is the shortest rate interval that gives an answer at all for
// the given scrape interval: two scrapes.
func MinRateInterval(scrape time.Duration) time.Duration { return 2 * scrape }

// GoodRateInterval is the shortest rate interval whose answer is steady for the
// given scrape interval: four scrapes.
func GoodRateInterval(scrape time.Duration) time.Duration { return 4 * scrape }

// ParseDuration parses a duration in Prometheus' format: 30s, 1m30s, 500ms.
func ParseDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("must be a duration such as 30s or 1m30s, got %q", text)
	}
	return time.Duration(d), nil
}

// MinThreshold is the smallest threshold: anything less is 0 when it is written with
// three decimals.
const MinThreshold = 0.001

// Thresholds are the values that the two answers are compared with. Unit: occupancy ratio,
// that is, the time a request takes divided by its service time.
type Thresholds struct {
	Scaling   float64 // KEDA keeps the ratio here
	Admission float64 // above it Envoy's gate refuses new clients
}

// DefaultScaling is the occupancy at which KEDA keeps the fleet: requests take up to
// twice their service time.
const DefaultScaling = 2

// AdmissionFor is the admission threshold that goes with a scaling threshold,
// above it so that no client is refused in normal operation: the larger of 3 and
// 1.5 times the scaling threshold.
func AdmissionFor(scaling float64) float64 { return max(3, 1.5*scaling) }

// Validate reports every invalid field, as [FieldErrors].
func (t Thresholds) Validate() error {
	var errs FieldErrors
	for _, f := range []struct {
		name  string
		value float64
	}{{"scaling", t.Scaling}, {"admission", t.Admission}} {
		if !(f.value >= MinThreshold) || math.IsInf(f.value, 1) {
			errs.Addf(f.name, "must be a number of at least %g, got %g", MinThreshold, f.value)
		}
	}
	if len(errs) == 0 && t.Admission <= t.Scaling {
		errs.Addf("admission", "must be above the scaling threshold of %g, got %g", t.Scaling, t.Admission)
	}
	return errs.Err()
}
