// Package upstream holds internal/hpa against the code of Kubernetes itself.
package upstream
