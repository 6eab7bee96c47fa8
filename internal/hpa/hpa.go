// Package hpa computes the number of replicas from the value of a metric, as KEDA 2.21 and the
// HorizontalPodAutoscaler of Kubernetes 1.34 do.
//
// Once every polling interval ([Scaler.Poll]), KEDA reads the triggers and scales the fleet between zero (or its idle
// size) and its minimum. Every 15 seconds ([Scaler.Sync]), the HPA reads them and sizes a fleet that is not at zero. Both
// write spec.replicas of the Deployment. The caller keeps that number and passes it as Spec of the next [Fleet].
//
// The package reads no clock and queries nothing. Time is the age of the ScaledObject, and must not go back.
package hpa

import (
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
)

// SyncPeriod is the time between two syncs of the HPA, by default of kube-controller-manager.
const SyncPeriod = 15 * time.Second

// Spec is the specification of a ScaledObject.
type Spec struct {
	Min  int32  // minimum size of an active fleet; with 0, KEDA scales an idle fleet to zero
	Max  int32  // maximum size
	Idle *int32 // size of an idle fleet, below Min; nil means none

	PollingInterval time.Duration // between two polls of KEDA
	Cooldown        time.Duration // time without activity before KEDA scales the fleet to zero or Idle
	InitialCooldown time.Duration // the same for a fleet that was never active

	Triggers []Trigger
	Fallback *Fallback // nil means none

	// Behavior has the windows, the policies and the tolerances; nil means the HPA's rules for an object without any.
	// Tolerances apply as in Kubernetes 1.35 and later, or with the feature gate HPAConfigurableTolerance.
	Behavior *autoscaling.HorizontalPodAutoscalerBehavior
}

// Trigger is a query to Prometheus, and how its answer is used.
type Trigger struct {
	Name       string
	Threshold  float64 // the target, in steps of 0.001
	Activation float64 // the fleet is active above it
	// MetricType is AverageValue for a metric of the whole fleet, Value for one of each replica; empty means AverageValue.
	MetricType autoscaling.MetricTargetType
	// IgnoreNullValues reads an empty answer, NaN and infinity as 0, not as an error.
	IgnoreNullValues bool
}

// Fallback is the size of a fleet whose triggers cannot be read.
type Fallback struct {
	FailureThreshold int32 // failures in a row up to which there is no fallback
	Replicas         int32
	Behavior         string // static, currentReplicas, currentReplicasIfHigher or currentReplicasIfLower; empty means static
}

// Fleet is the size of a Deployment.
type Fleet struct {
	Spec        int32 // wanted
	Status      int32 // pods that exist, pending ones too
	Ready       int32 // running pods that are ready, terminating ones too
	Terminating int32 // further pods that the selector finds: terminating, or failed
}

// Answer is Prometheus' answer to the query of a trigger.
type Answer struct {
	Value float64
	Empty bool  // no series
	Err   error // no answer, or several series
}

// Decision is the result of a sync.
type Decision struct {
	Replicas int32    // the new Spec of the fleet
	Metrics  []Metric // one for each trigger; none if the HPA read none
}

// Metric is a trigger as the HPA sees it.
type Metric struct {
	Value    int64 // thousandths: the value of the trigger, or that of the fallback
	Current  int64 // thousandths: the value in the HPA's status, per replica with AverageValue
	Replicas int32 // the size that this trigger alone asks for
	Err      error // why it cannot be read
}
