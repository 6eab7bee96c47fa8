// Package hpa turns what a metric reads into a number of replicas, as KEDA 2.21 and the
// HorizontalPodAutoscaler of Kubernetes 1.34 do it.
//
// KEDA looks at the triggers each polling interval ([Scaler.Poll]) and moves the fleet between zero,
// or its idle size, and its least size at work. The HPA looks at them every 15 seconds
// ([Scaler.Sync]) and sizes a fleet that is not at zero. Both write the same number, spec.replicas of
// the Deployment, and whoever calls this package keeps it: it is Spec of the next [Fleet].
//
// Nothing here reads a clock or asks Prometheus. Time is the age of the ScaledObject, and may not go back.
package hpa

import (
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
)

// SyncPeriod is the time between two looks of the HPA, as kube-controller-manager has it by default.
const SyncPeriod = 15 * time.Second

// Spec is what a ScaledObject says.
type Spec struct {
	Min  int32  // fewest replicas of a fleet at work; 0 lets KEDA take an idle fleet to zero
	Max  int32  // most replicas
	Idle *int32 // size of an idle fleet, below Min; nil means none

	PollingInterval time.Duration // between two looks of KEDA
	Cooldown        time.Duration // without work before KEDA takes the fleet to zero or Idle
	InitialCooldown time.Duration // the same for a fleet that has never worked

	Triggers []Trigger
	Fallback *Fallback // nil means none

	// Behavior has the windows, the policies and the tolerances; nil means what the HPA did before it had them.
	// Its tolerances count as where Kubernetes has them: since 1.35, or with the feature gate HPAConfigurableTolerance.
	Behavior *autoscaling.HorizontalPodAutoscalerBehavior
}

// Trigger is one query to Prometheus and how its answer counts.
type Trigger struct {
	Name       string
	Threshold  float64 // the target, in steps of 0.001
	Activation float64 // above it, there is work
	// MetricType is AverageValue for a metric of the whole fleet, Value for one of each replica; empty means AverageValue.
	MetricType autoscaling.MetricTargetType
	// IgnoreNullValues reads an empty answer, NaN and infinity as 0, not as an error.
	IgnoreNullValues bool
}

// Fallback is the size of a fleet whose triggers can't be read.
type Fallback struct {
	FailureThreshold int32 // failed looks in a row that are still an error
	Replicas         int32
	Behavior         string // static, currentReplicas, currentReplicasIfHigher or currentReplicasIfLower; empty means static
}

// Fleet is the size of a Deployment.
type Fleet struct {
	Spec        int32 // wanted
	Status      int32 // pods that exist, pending ones too
	Ready       int32 // running pods that are ready, terminating ones too
	Terminating int32 // pods that the selector finds beside those of Status: terminating, or failed
}

// Answer is what Prometheus says to the query of a trigger.
type Answer struct {
	Value float64
	Empty bool  // no series
	Err   error // no answer, or several series
}

// Decision is what the HPA makes of a look at the triggers.
type Decision struct {
	Replicas int32    // the new Spec of the fleet
	Metrics  []Metric // one for each trigger; none where the HPA looked at none
}

// Metric is a trigger as the HPA sees it.
type Metric struct {
	Value    int64 // thousandths: what the trigger reads, or what a fallback puts in its place
	Current  int64 // thousandths: what the status of the HPA shows, with AverageValue a replica's share
	Replicas int32 // what this trigger alone asks for
	Err      error // why it can't be read
}
