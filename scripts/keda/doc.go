// Package keda compares internal/hpa with KEDA's own code: the value of a failed trigger, and how polls change the fleet.
// It is a separate module because KEDA and Kubernetes' controller need other versions of the same modules.
package keda
