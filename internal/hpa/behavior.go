package hpa

import (
	"errors"
	"math"
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
)

// Flags of kube-controller-manager, by default.
const (
	defaultTolerance  = 0.1
	defaultDownWindow = 5 * time.Minute
)

var errNoPods = errors.New("the selector finds no pods")

// rules limit how fast the fleet changes in one direction.
type rules struct {
	window    time.Duration
	pick      autoscaling.ScalingPolicySelect
	policies  []autoscaling.HPAScalingPolicy
	longest   time.Duration // of the policies' periods
	tolerance float64
}

// recommendation is the size that the triggers asked for, before windows and policies apply.
type recommendation struct {
	replicas int32
	at       time.Duration
}

// event is a change of the fleet's size.
type event struct {
	change   int32
	at       time.Duration
	outdated bool
}

// bothRules applies Kubernetes' defaults.
func bothRules(b *autoscaling.HorizontalPodAutoscalerBehavior) (up, down rules) {
	up = rules{
		pick:      autoscaling.MaxChangePolicySelect,
		tolerance: defaultTolerance,
		policies: []autoscaling.HPAScalingPolicy{
			{Type: autoscaling.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: autoscaling.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		},
	}
	down = rules{
		window:    defaultDownWindow,
		pick:      autoscaling.MaxChangePolicySelect,
		tolerance: defaultTolerance,
		policies:  []autoscaling.HPAScalingPolicy{{Type: autoscaling.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
	}
	if b != nil {
		up.take(b.ScaleUp)
		down.take(b.ScaleDown)
	}
	up.longest, down.longest = longest(up.policies), longest(down.policies)
	return up, down
}

func (r *rules) take(from *autoscaling.HPAScalingRules) {
	if from == nil {
		return
	}
	if from.StabilizationWindowSeconds != nil {
		r.window = seconds(*from.StabilizationWindowSeconds)
	}
	if from.SelectPolicy != nil {
		r.pick = *from.SelectPolicy
	}
	if from.Policies != nil {
		r.policies = from.Policies
	}
	if from.Tolerance != nil {
		r.tolerance = from.Tolerance.AsApproximateFloat64()
	}
}

func longest(policies []autoscaling.HPAScalingPolicy) (period time.Duration) {
	for _, p := range policies {
		period = max(period, seconds(p.PeriodSeconds))
	}
	return period
}

func seconds(n int32) time.Duration {
	return time.Duration(n) * time.Second
}

// stabilize returns the size within the range of the recommendations of each window, and records this recommendation.
func (s *Scaler) stabilize(now time.Duration, current, want int32) int32 {
	upSince, downSince := now-s.up.window, now-s.down.window
	if s.spec.Behavior == nil {
		// Without a behavior the window includes its edge, and growth is not stabilized.
		upSince, downSince = now, downSince-1
	}
	low, high, old := want, want, -1
	for i, r := range s.recommendations {
		if r.at > upSince {
			low = min(low, r.replicas)
		}
		if r.at > downSince {
			high = max(high, r.replicas)
		}
		if r.at < upSince && r.at < downSince {
			old = i
		}
	}
	if old >= 0 {
		s.recommendations[old] = recommendation{want, now}
	} else {
		s.recommendations = append(s.recommendations, recommendation{want, now})
	}
	if s.spec.Behavior == nil {
		return high
	}
	return min(max(current, low), high)
}

// remember records a change of the fleet's size for the policies.
func (s *Scaler) remember(now time.Duration, from, to int32) {
	switch {
	case s.spec.Behavior == nil || from == to:
	case to > from:
		s.ups = note(s.ups, event{change: to - from, at: now}, s.up.longest)
	default:
		s.downs = note(s.downs, event{change: from - to, at: now}, s.down.longest)
	}
}

// note replaces an event that has left the period of every policy of its own direction. As in Kubernetes, policies of
// the other direction may still count that event until it is replaced.
func note(events []event, e event, longest time.Duration) []event {
	old := -1
	for i := range events {
		if events[i].at < e.at-longest {
			events[i].outdated = true
		}
		if events[i].outdated {
			old = i
		}
	}
	if old < 0 {
		return append(events, e)
	}
	events[old] = e
	return events
}

// changed is the sum of changes in a policy's period.
func changed(events []event, now time.Duration, p autoscaling.HPAScalingPolicy) int32 {
	sum, since := int32(0), now-seconds(p.PeriodSeconds)
	for _, e := range events {
		if e.at > since {
			sum += e.change
		}
	}
	return sum
}

// upLimit is the largest fleet that the policies for growth allow.
func (s *Scaler) upLimit(now time.Duration, current int32) int32 {
	if s.up.pick == autoscaling.DisabledPolicySelect {
		return current
	}
	choose, limit := larger, int32(math.MinInt32)
	if s.up.pick == autoscaling.MinChangePolicySelect {
		choose, limit = smaller, math.MaxInt32
	}
	for _, p := range s.up.policies {
		start := current - changed(s.ups, now, p) + changed(s.downs, now, p)
		allowed := start + p.Value
		if p.Type == autoscaling.PercentScalingPolicy {
			allowed = int32(math.Ceil(float64(start) * (1 + float64(p.Value)/100)))
		}
		limit = choose(limit, allowed)
	}
	return limit
}

// downLimit is the smallest fleet that the policies for shrinking allow.
func (s *Scaler) downLimit(now time.Duration, current int32) int32 {
	if s.down.pick == autoscaling.DisabledPolicySelect {
		return current
	}
	choose, limit := smaller, int32(math.MaxInt32)
	if s.down.pick == autoscaling.MinChangePolicySelect {
		choose, limit = larger, math.MinInt32
	}
	for _, p := range s.down.policies {
		start := current - changed(s.ups, now, p) + changed(s.downs, now, p)
		allowed := start - p.Value
		if p.Type == autoscaling.PercentScalingPolicy {
			allowed = int32(float64(start) * (1 - float64(p.Value)/100))
		}
		limit = choose(limit, allowed)
	}
	return limit
}

func larger(a, b int32) int32  { return max(a, b) }
func smaller(a, b int32) int32 { return min(a, b) }
