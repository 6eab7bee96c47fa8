package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// scaledObject is what KEDA reads. Metadata that are not strings are an error.
type scaledObject struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		ScaleTargetRef   map[string]string `json:"scaleTargetRef"`
		PollingInterval  int32             `json:"pollingInterval"`
		CooldownPeriod   int32             `json:"cooldownPeriod"`
		InitialCooldown  int32             `json:"initialCooldownPeriod"`
		IdleReplicaCount *int32            `json:"idleReplicaCount"`
		MinReplicaCount  *int32            `json:"minReplicaCount"`
		MaxReplicaCount  int32             `json:"maxReplicaCount"`
		Fallback         *struct {
			FailureThreshold int32  `json:"failureThreshold"`
			Replicas         int32  `json:"replicas"`
			Behavior         string `json:"behavior"`
		} `json:"fallback"`
		Advanced struct {
			HPA struct {
				Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []render.Trigger `json:"triggers"`
	} `json:"spec"`
}

const (
	scaled        = "keda/scaledobject.yaml"
	ownPrometheus = "prometheus: {enabled: true}\n"
	ownMetric     = "serverLoadMetric: sum(load)\n"
	wakesFrom0    = "minReplicaCount: 0"
	wakeUpQuery   = "envoy_cluster_upstream_cx_none_healthy"
)

func kedaWith(t testing.TB, keys, more string) scaledObject {
	t.Helper()
	return manifest.Object[scaledObject](t, manifest.Render(t, "keda: {enabled: true, "+keys+"}\n"+ownPrometheus+more), scaled)
}

func TestFleetSizes(t *testing.T) {
	type sizes struct {
		Min, Max, Cooldown int32
		Idle               *int32
		Triggers           int
	}
	for _, tc := range []struct {
		name, keda, more string
		want             sizes
	}{
		{"default", "", "", sizes{1, 2, 600, nil, 1}},
		{"zero", "minReplicaCount: 0", "", sizes{0, 2, 600, nil, 2}},
		{"idle-at-zero", "zeroIdleReplicas: true, minReplicaCount: 3, maxReplicaCount: 9", "", sizes{3, 9, 600, new(int32(0)), 2}},
		{"idle-at-zero-and-no-minimum", "zeroIdleReplicas: true, minReplicaCount: 0", "", sizes{1, 2, 600, new(int32(0)), 2}},
		{"models-load-longer", "minReplicaCount: 0", "triton: {startupProbe: {initialDelaySeconds: 300}}", sizes{0, 2, 900, nil, 2}},
		{
			"window-is-longer", "minReplicaCount: 0, scaleDown: {stabilizationWindowSeconds: 1000}", "",
			sizes{0, 2, 1000, nil, 2},
		},
		{"cooldown-zero-with-servers", "cooldownPeriod: 0", "", sizes{1, 2, 0, nil, 1}},
		{"large-numbers", "maxReplicaCount: 1000000, cooldownPeriod: 1000000", "", sizes{1, 1000000, 1000000, nil, 1}},
		{"own-metric-wakes-as-well", "minReplicaCount: 0, metricType: Value", ownMetric, sizes{0, 2, 600, nil, 2}},
		{"own-metric-alone", "minReplicaCount: 0, wakeUp: {enabled: false}", ownMetric, sizes{0, 2, 600, nil, 1}},
		{"no-envoy", "minReplicaCount: 0", ownMetric + "envoy: {enabled: false}", sizes{0, 2, 600, nil, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := kedaWith(t, tc.keda, tc.more).Spec
			got := sizes{*s.MinReplicaCount, s.MaxReplicaCount, s.CooldownPeriod, s.IdleReplicaCount, len(s.Triggers)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			if s.InitialCooldown != s.CooldownPeriod {
				t.Errorf("a new fleet keeps its replicas for %d s without work, want %d", s.InitialCooldown, s.CooldownPeriod)
			}
		})
	}
}

// Each key sets its own field, with distinct values.
func TestScaledObjectKeys(t *testing.T) {
	s := kedaWith(t, "minReplicaCount: 2, maxReplicaCount: 30, pollingInterval: 7, cooldownPeriod: 701, activationThreshold: 0.25, "+
		"fallback: {failureThreshold: 4, replicas: 5, behavior: static}", "serverLoadThreshold: 1.5").Spec
	m := s.Triggers[0].Metadata
	got := []any{
		*s.MinReplicaCount, s.MaxReplicaCount, s.PollingInterval, s.CooldownPeriod, s.InitialCooldown,
		s.Fallback.FailureThreshold, s.Fallback.Replicas, s.Fallback.Behavior, m["activationThreshold"], m["threshold"],
	}
	want := []any{int32(2), int32(30), int32(7), int32(701), int32(701), int32(4), int32(5), "static", "0.25", "1.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestScalingTrigger(t *testing.T) {
	type facts struct{ MetricType, Threshold, Activation, IgnoreNull string }
	for _, tc := range []struct {
		name, keda, more string
		want             facts
	}{
		{"built-in", "", "", facts{"AverageValue", "2", "0", "false"}},
		{"fraction", "activationThreshold: 0.5", "serverLoadThreshold: 1.5", facts{"AverageValue", "1.5", "0.5", "false"}},
		{"smallest", "", "serverLoadThreshold: 0.001", facts{"AverageValue", "0.001", "0", "false"}},
		{"large", "metricType: Value", ownMetric + "serverLoadThreshold: 16777216", facts{"Value", "16777216", "0", ""}},
		{"own-metric", "", ownMetric, facts{"AverageValue", "2", "0", ""}},
		{"own-metric-with-fallback", "fallback: {enabled: true}", ownMetric, facts{"AverageValue", "2", "0", "false"}},
		{"nulls-as-boolean", "ignoreNullValues: false", ownMetric, facts{"AverageValue", "2", "0", "false"}},
		{"nulls-as-zero", "ignoreNullValues: 'true', fallback: {enabled: false}", "", facts{"AverageValue", "2", "0", "true"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			trigger := kedaWith(t, tc.keda, tc.more).Spec.Triggers[0]
			m := trigger.Metadata
			got := facts{trigger.MetricType, m["threshold"], m["activationThreshold"], m["ignoreNullValues"]}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			if want := "http://sonic-prometheus-server.cms.svc.cluster.local:9090"; m["serverAddress"] != want {
				t.Errorf("serverAddress is %q, want %q", m["serverAddress"], want)
			}
		})
	}
}

// The wake-up trigger never asks for more than one replica.
func TestWakeUpTrigger(t *testing.T) {
	wake := kedaWith(t, "maxReplicaCount: 1000, "+wakesFrom0, "").Spec.Triggers[1]
	if wake.MetricType != "AverageValue" || wake.Metadata["threshold"] != "1000000" || wake.Metadata["activationThreshold"] != "0" {
		t.Errorf("got %v", wake)
	}
	if !strings.Contains(wake.Metadata["query"], wakeUpQuery) {
		t.Errorf("the query does not count calls that found no server:\n%s", wake.Metadata["query"])
	}
}

func TestWakeUpActivationThreshold(t *testing.T) {
	triggers := kedaWith(t, "minReplicaCount: 0, wakeUp: {activationThreshold: 0.1}", "").Spec.Triggers
	for i, want := range []string{"0", "0.1"} {
		if got := triggers[i].Metadata["activationThreshold"]; got != want {
			t.Errorf("trigger %d: activationThreshold is %q, want %q", i, got, want)
		}
	}
}

// A custom metric is used verbatim.
func TestOwnMetricVerbatim(t *testing.T) {
	const metric = "sum(load{path=~\"a\\\\.b\", text='{{ .Release.Name }}'}) # ünïcode: \"x\"\n"
	vals := manifest.Values(t, "keda: {enabled: true}\n"+ownPrometheus)
	vals["serverLoadMetric"] = metric
	m, err := render.Chart(manifest.Chart(t), vals, manifest.Options)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metric, manifest.Object[scaledObject](t, m, scaled).Spec.Triggers[0].Metadata["query"]); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestFallback(t *testing.T) {
	for _, tc := range []struct {
		name, keda, more string
		want             int32 // replicas, -1 for no fallback
	}{
		{"built-in", "minReplicaCount: 3, maxReplicaCount: 5", "", 3},
		{"built-in-from-zero", wakesFrom0, "", 1},
		{"given-zero", "fallback: {replicas: 0}", "", 0},
		{"off", "fallback: {enabled: false}", "", -1},
		{"own-metric", "", ownMetric, -1},
		{"own-metric-on", "fallback: {enabled: true, replicas: 2}", ownMetric, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := kedaWith(t, tc.keda, tc.more).Spec.Fallback
			switch {
			case tc.want < 0 && f != nil:
				t.Errorf("got %v, want none", *f)
			case tc.want >= 0 && (f == nil || f.Replicas != tc.want || f.FailureThreshold != 3 || f.Behavior != "currentReplicasIfHigher"):
				t.Errorf("got %v, want %d replicas, after 3 failures, or as many as run", f, tc.want)
			}
		})
	}
}

func TestScalingPolicies(t *testing.T) {
	policy := func(value, period int32) []autoscalingv2.HPAScalingPolicy {
		return []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: value, PeriodSeconds: period}}
	}
	for _, tc := range []struct {
		name, keda string
		up, down   autoscalingv2.HPAScalingRules
	}{
		{
			"default-grows-in-one-step", "maxReplicaCount: 40",
			autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0)), Policies: policy(40, 15)},
			autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(600)), Policies: policy(1, 120)},
		},
		{
			"given", "scaleUp: {stabilizationWindowSeconds: 30, periodSeconds: 20, stepsize: 1}, " +
				"scaleDown: {stabilizationWindowSeconds: 0, periodSeconds: 45, stepsize: 2}",
			autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(30)), Policies: policy(1, 20)},
			autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0)), Policies: policy(2, 45)},
		},
		{
			"a-tenth-or-one-goes", "maxReplicaCount: 40, scaleDown: {percent: 10}",
			autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0)), Policies: policy(40, 15)},
			autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(600)), Policies: append(policy(1, 120),
				autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 10, PeriodSeconds: 120})},
		},
		{
			"tolerances", "maxReplicaCount: 40, scaleUp: {tolerance: 0}, scaleDown: {tolerance: 0.00001}",
			autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: new(int32(0)), Policies: policy(40, 15), Tolerance: new(resource.MustParse("0")),
			},
			autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: new(int32(600)), Policies: policy(1, 120), Tolerance: new(resource.MustParse("0.00001")),
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &tc.up, ScaleDown: &tc.down}
			if diff := cmp.Diff(want, kedaWith(t, tc.keda, "").Spec.Advanced.HPA.Behavior); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScaledObjectNames(t *testing.T) {
	for _, values := range []string{"", wakesFrom0, "zeroIdleReplicas: true", "annotations: {a: b}"} {
		s := kedaWith(t, values, "")
		if s.Metadata["name"] != "sonic-keda-so" || s.Spec.ScaleTargetRef["name"] != "sonic-triton" || s.Metadata["finalizers"] != nil {
			t.Errorf("%q: got %v, target %v", values, s.Metadata, s.Spec.ScaleTargetRef)
		}
	}
}
