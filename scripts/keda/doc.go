// Package keda holds internal/hpa against KEDA's own code: what a failed trigger reads, and how polls move the fleet.
// It is a module of its own because KEDA and Kubernetes' controller need other versions of the same modules.
package keda
