package hpa

import (
	"errors"
	"fmt"
	"math"
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
)

// Behaviors of a fallback.
const (
	fallbackStatic   = "static"
	fallbackCurrent  = "currentReplicas"
	fallbackIfHigher = "currentReplicasIfHigher"
	fallbackIfLower  = "currentReplicasIfLower"
)

// reading is an answer as KEDA understands it.
type reading struct {
	milli  int64
	active bool
	err    error
}

// Asks reports whether the next Poll queries Prometheus. For an active fleet KEDA uses the values of the HPA's last sync
// where it can, and the answers may then be left out.
func (s *Scaler) Asks() bool {
	return s.spec.Min == 0 || s.spec.Idle != nil || !s.hpaActive
}

// Poll is one poll of KEDA, with an answer for each trigger. It returns the new Spec of the fleet.
func (s *Scaler) Poll(now time.Duration, answers []Answer, fleet Fleet) int32 {
	seen := s.seen
	if s.Asks() {
		seen = s.observe(answers, fleet)
	}
	active, failed := false, false
	for _, r := range seen {
		active = active || r.err == nil && r.active
		failed = failed || r.err != nil
	}
	if active {
		return s.work(now, fleet.Spec, failed)
	}
	return s.rest(now, fleet.Spec, failed)
}

// work is a poll of an active fleet.
func (s *Scaler) work(now time.Duration, current int32, failed bool) int32 {
	wake := current == 0 || s.spec.Idle != nil && current < s.spec.Min
	if wake || !failed {
		// The API server keeps whole seconds.
		s.worked, s.lastActive = true, now.Truncate(time.Second)
	}
	if wake {
		return max(s.spec.Min, 1)
	}
	return current
}

// rest is a poll of an inactive fleet.
func (s *Scaler) rest(now time.Duration, current int32, failed bool) int32 {
	idle := s.spec.Idle
	switch {
	case failed && (s.spec.Fallback == nil || s.spec.Fallback.Replicas != 0):
		return current
	case idle != nil && current > *idle, current > 0 && s.spec.Min == 0:
		if !s.cooled(now) {
			return current
		}
		if idle != nil {
			return *idle
		}
		return s.spec.Min
	case idle == nil && current < s.spec.Min:
		return s.spec.Min
	}
	return current
}

// cooled reports whether the last activity is long enough ago to scale down.
func (s *Scaler) cooled(now time.Duration) bool {
	if s.worked {
		return s.lastActive+s.spec.Cooldown < now
	}
	return s.spec.InitialCooldown < now
}

// observe reads each trigger once. Failures count for KEDA and for the HPA together.
func (s *Scaler) observe(answers []Answer, fleet Fleet) []reading {
	seen := make([]reading, len(s.spec.Triggers))
	for i := range s.spec.Triggers {
		seen[i] = s.read(i, answers[i], fleet)
	}
	return seen
}

func (s *Scaler) read(i int, answer Answer, fleet Fleet) reading {
	v, err := s.spec.Triggers[i].value(answer)
	if err == nil {
		s.failures[i] = 0
		return reading{milli: milli(v), active: v > s.spec.Triggers[i].Activation}
	}
	if s.spec.Fallback == nil {
		return reading{err: err}
	}
	if s.failures[i] < math.MaxInt32 {
		s.failures[i]++
	}
	if s.failures[i] <= s.spec.Fallback.FailureThreshold {
		return reading{err: err}
	}
	return s.fallback(i, fleet)
}

// value is an answer as KEDA's Prometheus scaler reads it.
func (t Trigger) value(a Answer) (float64, error) {
	switch {
	case a.Err != nil:
		return 0, a.Err
	case !a.Empty && !math.IsInf(a.Value, 0) && !math.IsNaN(a.Value):
		return a.Value, nil
	case t.IgnoreNullValues:
		return 0, nil
	case a.Empty:
		return 0, errors.New("the answer is empty")
	}
	return 0, fmt.Errorf("the answer is %v", a.Value)
}

// fallback is the reading that makes the HPA ask for the fallback's replicas.
func (s *Scaler) fallback(i int, fleet Fleet) reading {
	replicas := s.spec.Fallback.Replicas
	switch s.spec.Fallback.Behavior {
	case fallbackCurrent:
		replicas = fleet.Spec
	case fallbackIfHigher:
		replicas = max(replicas, fleet.Spec)
	case fallbackIfLower:
		replicas = min(replicas, fleet.Spec)
	}
	factor := float64(replicas)
	if s.spec.Triggers[i].MetricType == autoscaling.ValueMetricType {
		if fleet.Ready == 0 {
			return reading{err: errors.New("no replica is ready, and a fallback with metricType Value divides by them")}
		}
		factor /= float64(fleet.Ready)
	}
	target := float64(s.targets[i]) * math.Pow10(-3)
	return reading{milli: int64(target * 1000 * factor), active: true}
}
