// Package prometheus tests what the chart renders for Prometheus and the metrics collector: the real Prometheus runs with
// the rendered arguments, configuration and rules, and the real Envoy in front of it.
package prometheus
