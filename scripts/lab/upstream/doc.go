// Package upstream compares internal/hpa with the code of Kubernetes itself.
package upstream
