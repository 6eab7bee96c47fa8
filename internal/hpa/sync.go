package hpa

import (
	"math"
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
)

// Sync is one sync of the HPA, with an answer for each trigger.
func (s *Scaler) Sync(now time.Duration, answers []Answer, fleet Fleet) Decision {
	if !s.started {
		s.started = true
		s.recommendations = append(s.recommendations, recommendation{fleet.Spec, now})
	}
	d := Decision{Replicas: fleet.Spec}
	switch {
	case fleet.Spec == 0:
		s.hpaActive = false
		return d
	case fleet.Spec > s.spec.Max:
		d.Replicas = s.spec.Max
	case fleet.Spec < s.min:
		d.Replicas = s.min
	default:
		s.seen = s.observe(answers, fleet)
		var want int32
		d.Metrics, want = s.propose(fleet)
		s.hpaActive = want >= 0
		if s.hpaActive {
			d.Replicas = s.settle(now, fleet.Spec, want)
		}
	}
	s.remember(now, fleet.Spec, d.Replicas)
	return d
}

// propose returns the largest size that a trigger asks for. It is negative, and the fleet keeps its size, if no trigger
// can be read, or if one cannot be read and the others would shrink the fleet.
func (s *Scaler) propose(fleet Fleet) ([]Metric, int32) {
	metrics := make([]Metric, len(s.seen))
	want, failed := int32(0), 0
	for i, r := range s.seen {
		m := &metrics[i]
		m.Value, m.Err = r.milli, r.err
		if m.Err == nil {
			s.ask(m, i, fleet)
		}
		if m.Err != nil {
			failed++
		} else if want == 0 || m.Replicas > want {
			want = m.Replicas
		}
	}
	if failed == len(s.seen) || failed > 0 && want < fleet.Spec {
		return metrics, -1
	}
	return metrics, max(want, 0)
}

// ask computes the size that one trigger asks for.
func (s *Scaler) ask(m *Metric, i int, fleet Fleet) {
	value, target := float64(m.Value), float64(s.targets[i])
	if s.spec.Triggers[i].MetricType == autoscaling.ValueMetricType {
		m.Current, m.Replicas = m.Value, fleet.Spec
		if ratio := value / target; s.tolerated(ratio) {
			return
		} else if fleet.Status+fleet.Terminating == 0 {
			m.Err = errNoPods
		} else {
			m.Replicas = int32(math.Ceil(ratio * float64(fleet.Ready)))
		}
		return
	}
	m.Current, m.Replicas = m.Value, fleet.Status
	if !s.tolerated(value / (target * float64(fleet.Status))) {
		m.Replicas = int32(min(math.Ceil(value/target), math.MaxInt32))
	}
	if fleet.Status > 0 {
		m.Current = int64(math.Ceil(value / float64(fleet.Status)))
	}
}

// tolerated reports whether a metric is close enough to its target for the fleet to keep its size.
func (s *Scaler) tolerated(ratio float64) bool {
	return 1-s.down.tolerance <= ratio && ratio <= 1+s.up.tolerance
}

// settle applies the windows, the policies and the bounds.
func (s *Scaler) settle(now time.Duration, current, want int32) int32 {
	want = s.stabilize(now, current, want)
	if s.spec.Behavior == nil {
		limit := int32(math.Max(2*float64(current), 4))
		if want < s.min {
			return s.min
		}
		return min(want, s.spec.Max, limit)
	}
	switch {
	case want > current:
		return min(want, s.spec.Max, max(current, s.upLimit(now, current)))
	case want < current:
		return max(want, s.min, min(current, s.downLimit(now, current)))
	}
	return want
}
