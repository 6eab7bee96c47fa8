package hpa

import (
	"errors"
	"fmt"
	"slices"
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
)

// check lists everything that KEDA or Kubernetes refuses, by its key in the ScaledObject's spec.
func check(spec Spec) error {
	var errs []error
	refuse := func(bad bool, key, must string, got any) {
		if bad {
			errs = append(errs, fmt.Errorf("%s: must be %s, got %v", key, must, got))
		}
	}
	refuse(spec.Min < 0, "minReplicaCount", "at least 0", spec.Min)
	refuse(spec.Max < 1, "maxReplicaCount", "at least 1", spec.Max)
	refuse(spec.Min > spec.Max, "minReplicaCount", fmt.Sprintf("at most maxReplicaCount, %d", spec.Max), spec.Min)
	if spec.Idle != nil {
		refuse(*spec.Idle < 0, "idleReplicaCount", "at least 0", *spec.Idle)
		least := max(spec.Min, 1)
		refuse(*spec.Idle >= least, "idleReplicaCount", fmt.Sprintf("below minReplicaCount, %d", least), *spec.Idle)
	}
	refuse(spec.PollingInterval < time.Second, "pollingInterval", "at least 1s", spec.PollingInterval)
	refuse(spec.Cooldown < 0, "cooldownPeriod", "at least 0s", spec.Cooldown)
	refuse(spec.InitialCooldown < 0, "initialCooldownPeriod", "at least 0s", spec.InitialCooldown)
	refuse(len(spec.Triggers) == 0, "triggers", "at least one", "none")
	for i, t := range spec.Triggers {
		key := fmt.Sprintf("triggers[%d].", i)
		refuse(milli(t.Threshold) == 0, key+"metadata.threshold", "at least 0.001", t.Threshold)
		known := []autoscaling.MetricTargetType{"", autoscaling.AverageValueMetricType, autoscaling.ValueMetricType}
		refuse(!slices.Contains(known, t.MetricType), key+"metricType", "AverageValue or Value", t.MetricType)
	}
	if f := spec.Fallback; f != nil {
		refuse(f.FailureThreshold < 0, "fallback.failureThreshold", "at least 0", f.FailureThreshold)
		refuse(f.Replicas < 0, "fallback.replicas", "at least 0", f.Replicas)
		known := []string{"", fallbackStatic, fallbackCurrent, fallbackIfHigher, fallbackIfLower}
		refuse(!slices.Contains(known, f.Behavior), "fallback.behavior",
			"static, currentReplicas, currentReplicasIfHigher or currentReplicasIfLower", f.Behavior)
	}
	if b := spec.Behavior; b != nil {
		checkRules(refuse, "scaleUp.", b.ScaleUp)
		checkRules(refuse, "scaleDown.", b.ScaleDown)
	}
	return errors.Join(errs...)
}

func checkRules(refuse func(bool, string, string, any), key string, r *autoscaling.HPAScalingRules) {
	if r == nil {
		return
	}
	key = "advanced.horizontalPodAutoscalerConfig.behavior." + key
	if w := r.StabilizationWindowSeconds; w != nil {
		refuse(*w < 0 || *w > 3600, key+"stabilizationWindowSeconds", "0 to 3600", *w)
	}
	if p := r.SelectPolicy; p != nil {
		known := []autoscaling.ScalingPolicySelect{
			autoscaling.MaxChangePolicySelect, autoscaling.MinChangePolicySelect, autoscaling.DisabledPolicySelect,
		}
		refuse(!slices.Contains(known, *p), key+"selectPolicy", "Max, Min or Disabled", *p)
	}
	if t := r.Tolerance; t != nil {
		refuse(t.Sign() < 0, key+"tolerance", "at least 0", t)
	}
	refuse(r.Policies != nil && len(r.Policies) == 0, key+"policies", "at least one", "none")
	for i, p := range r.Policies {
		key := fmt.Sprintf("%spolicies[%d].", key, i)
		known := []autoscaling.HPAScalingPolicyType{autoscaling.PodsScalingPolicy, autoscaling.PercentScalingPolicy}
		refuse(!slices.Contains(known, p.Type), key+"type", "Pods or Percent", p.Type)
		refuse(p.Value < 1, key+"value", "at least 1", p.Value)
		refuse(p.PeriodSeconds < 1 || p.PeriodSeconds > 1800, key+"periodSeconds", "1 to 1800", p.PeriodSeconds)
	}
}
