package upstream

import (
	"fmt"
	"math"
	"math/rand/v2"

	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
)

func metric(i int, t hpa.Trigger) autoscaling.MetricSpec {
	target := autoscaling.MetricTarget{Type: t.MetricType}
	quantity := resource.NewMilliQuantity(int64(math.Round(1000*t.Threshold)), resource.DecimalSI)
	if t.MetricType == autoscaling.ValueMetricType {
		target.Value = quantity
	} else {
		target.AverageValue = quantity
	}
	return autoscaling.MetricSpec{
		Type: autoscaling.ExternalMetricSourceType,
		External: &autoscaling.ExternalMetricSource{
			Metric: autoscaling.MetricIdentifier{Name: fmt.Sprintf("s%d-prometheus", i)}, Target: target,
		},
	}
}

func thousandths(a hpa.Answer) int64 { return int64(math.Round(1000 * a.Value)) }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func maybe[T any](r *rand.Rand, from ...T) *T {
	if i := r.IntN(len(from) + 1); i < len(from) {
		return &from[i]
	}
	return nil
}

// randomSpec draws edge cases as often as typical values.
func randomSpec(r *rand.Rand) hpa.Spec {
	s := hpa.Spec{Min: int32(r.IntN(4)), PollingInterval: hpa.SyncPeriod}
	s.Max = max(s.Min, 1) + int32(r.IntN(pick(r, 3, 12, 60)))
	for range 1 + r.IntN(3) {
		s.Triggers = append(s.Triggers, hpa.Trigger{
			Threshold:  pick(r, 0.001, 0.7, 1, 2, 3.333, float64(1+r.IntN(20_000))/1000),
			MetricType: pick(r, autoscaling.AverageValueMetricType, autoscaling.AverageValueMetricType, autoscaling.ValueMetricType),
		})
	}
	if r.IntN(5) > 0 {
		s.Behavior = &autoscaling.HorizontalPodAutoscalerBehavior{ScaleUp: randomRules(r), ScaleDown: randomRules(r)}
	}
	return s
}

func randomRules(r *rand.Rand) *autoscaling.HPAScalingRules {
	if r.IntN(6) == 0 {
		return nil
	}
	rules := &autoscaling.HPAScalingRules{
		StabilizationWindowSeconds: maybe[int32](r, 0, 0, 0, 15, 15, 30, 30, 60, 90, 300),
		SelectPolicy: maybe(r, autoscaling.MaxChangePolicySelect, autoscaling.MaxChangePolicySelect,
			autoscaling.MaxChangePolicySelect, autoscaling.MinChangePolicySelect, autoscaling.MinChangePolicySelect,
			autoscaling.DisabledPolicySelect),
		Tolerance: maybe(r, resource.MustParse("0"), resource.MustParse("0.05"), resource.MustParse("100m"), resource.MustParse("0.3")),
	}
	for range r.IntN(4) {
		p := autoscaling.HPAScalingPolicy{Type: autoscaling.PodsScalingPolicy, Value: pick[int32](r, 1, 2, 4, 10, 60)}
		if r.IntN(2) == 0 {
			p = autoscaling.HPAScalingPolicy{Type: autoscaling.PercentScalingPolicy, Value: pick[int32](r, 1, 10, 33, 50, 100, 900)}
		}
		p.PeriodSeconds = pick[int32](r, 1, 15, 30, 45, 60, 120, 300)
		rules.Policies = append(rules.Policies, p)
	}
	return rules
}

// randomFleet roughly follows the requested size: pods start, end and are lost, and a person or KEDA changes the size.
func randomFleet(r *rand.Rand, f hpa.Fleet, spec hpa.Spec) hpa.Fleet {
	switch r.IntN(30) {
	case 0:
		f.Spec = 0
	case 1:
		f.Spec = int32(r.IntN(int(spec.Max) + 3))
	}
	if f.Spec == 0 && r.IntN(3) == 0 {
		f.Spec = max(spec.Min, 1)
	}
	f.Status = f.Spec
	if r.IntN(5) == 0 {
		f.Status = max(0, f.Spec-3+int32(r.IntN(7)))
	}
	f.Terminating = pick[int32](r, 0, 0, 0, 1, 2)
	f.Ready = f.Status
	if found := int(f.Status + f.Terminating); r.IntN(3) == 0 {
		f.Ready = int32(r.IntN(found + 1))
	}
	return f
}

// randomAnswers are the load in replicas, or the size of the fleet at the edges of the tolerance.
func randomAnswers(r *rand.Rand, spec hpa.Spec, f hpa.Fleet, worth float64) []hpa.Answer {
	size := pick(r, worth, worth, worth, float64(f.Status))
	var all []hpa.Answer
	for _, t := range spec.Triggers {
		v := t.Threshold * size
		if t.MetricType == autoscaling.ValueMetricType {
			v = t.Threshold * size / float64(max(f.Ready, 1))
		}
		edge := pick(r, 0, 0.05, 0.1, 0.1, 0.3)
		v *= pick(r, 1, 1, 1, 1, 1+edge, 1-edge, r.Float64())
		a := hpa.Answer{Value: max(0, math.Round(1000*v)/1000+pick(r, 0, 0, 0.001, -0.001))}
		if r.IntN(25) == 0 {
			a = hpa.Answer{Err: errNoAnswer}
		}
		all = append(all, a)
	}
	return all
}

// podsFor are the pods of this fleet that the selector finds.
func podsFor(namespace string, f hpa.Fleet) []*core.Pod {
	all := make([]*core.Pod, f.Status+f.Terminating)
	for i := range all {
		p := &core.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("p%d", i), Labels: map[string]string{"app": name},
		}}
		p.Status.Phase = core.PodPending
		if int32(i) < f.Ready {
			p.Status.Phase = core.PodRunning
			p.Status.Conditions = []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}
		}
		all[i] = p
	}
	return all
}
