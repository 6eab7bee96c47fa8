// Package oldkeys is the table of keys of SuperSONIC 0.1 to 0.3.1 that this chart
// renamed or dropped.
package oldkeys

import (
	"slices"
	"strings"
)

// A Row describes the replacement of a key of SuperSONIC 0.1 to 0.3.1, or of one of
// its branches.
type Row struct {
	Key string   // as users write it
	In  string   // the versions that had it
	To  []string // the keys that replace it
	Now string   // what to do, if a new name is not all; without a full stop
	// Dropped means that nothing replaces the key, and it can be removed.
	Dropped bool
}

const (
	first  = "0.1–0.2"
	third  = "0.3"
	all    = "0.1–0.3"
	branch = "branches"
)

func renames(in string, pairs ...string) []Row {
	var rows []Row
	for i := 0; i < len(pairs); i += 2 {
		rows = append(rows, Row{Key: pairs[i], In: in, To: strings.Fields(pairs[i+1])})
	}
	return rows
}

func dropped(in, why string, keys ...string) []Row {
	var rows []Row
	for _, key := range keys {
		rows = append(rows, Row{Key: key, In: in, Now: why, Dropped: true})
	}
	return rows
}

func replaced(in, what string, keys ...string) []Row {
	var rows []Row
	for _, key := range keys {
		rows = append(rows, Row{Key: key, In: in, Now: what})
	}
	return rows
}

// Rows holds the old keys that the chart does not have, in the order of migration: a
// section before its keys.
var Rows = slices.Concat(
	renames(branch, "inferenceServer", "triton"),
	renames(first,
		"autoscaler", "keda",
		"autoscaler.minReplicas", "keda.minReplicaCount",
		"autoscaler.maxReplicas", "keda.maxReplicaCount",
		"autoscaler.scaleUp.window", "keda.scaleUp.stabilizationWindowSeconds",
		"autoscaler.scaleUp.period", "keda.scaleUp.periodSeconds",
		"autoscaler.scaleDown.window", "keda.scaleDown.stabilizationWindowSeconds",
		"autoscaler.scaleDown.period", "keda.scaleDown.periodSeconds",
		"nodeSelector", "triton.nodeSelector envoy.nodeSelector",
		"tolerations", "triton.tolerations envoy.tolerations",
		"tracing_sampling_rate", "envoy.tracing_sampling_rate",
		"triton.resetReadinessProbe", "triton.readinessProbe.reset",
		"prometheus.url", "prometheus.external.url",
		"prometheus.port", "prometheus.external.port",
		"prometheus.scheme", "prometheus.external.scheme",
		"prometheus.serverLoadMetric", "serverLoadMetric",
		"prometheus.serverLoadThreshold", "serverLoadThreshold",
		"prometheus.ingress", "prometheus.server.ingress",
	),
	renames("before 0.1",
		"prometheus.serverAvailabilityMetric", "serverLoadMetric",
		"prometheus.serverAvailabilityThreshold", "serverLoadThreshold",
	),
	renames(third, "prometheus.resources", "prometheus.server.resources"),
	dropped(first, "with storageType cvmfs-pvc, the chart creates the claim unless cvmfs.claimName names one",
		"triton.modelRepository.cvmfsPvc"),
	dropped(third, "it never had an effect", "triton.name"),
	[]Row{
		{Key: "ingress", In: all, To: []string{"envoy.ingress"}, Now: "after 0.1 it had no effect"},
		{Key: "envoy.ingress.hosts", In: third, To: []string{"envoy.ingress.hostName"}, Now: "only one host is possible"},
		{Key: "metricsCollector.ingress.hosts", In: third, To: []string{"metricsCollector.ingress.hostName"}, Now: "only one host is possible"},
	},
	branches,
	subcharts,
)

var branches = slices.Concat(
	dropped(branch, "Triton is the only server of this chart", "triton.type"),
	renames(branch,
		"scaleFromZero.readyTimeoutSeconds", "envoy.hold.maxSeconds",
		"keda.scaleFromZero.readyTimeoutSeconds", "envoy.hold.maxSeconds",
	),
	dropped(branch, "keda.cooldownPeriod keeps the fleet after the last request",
		"scaleFromZero.holdMinReplicasSeconds", "keda.scaleFromZero.holdMinReplicasSeconds"),
	dropped(branch, "Envoy wakes the fleet itself, without a sidecar",
		"scaleFromZero.admissionImage", "keda.scaleFromZero.admissionImage"),
	renames(branch, "scaleFromZero.enabled", "envoy.hold.enabled", "keda.scaleFromZero.enabled", "envoy.hold.enabled"),
	replaced(branch, "use keda.minReplicaCount: 0 for zero replicas, and envoy.hold.enabled to hold the first calls",
		"scaleFromZero", "keda.scaleFromZero"),
	replaced(branch, "drop it if the release is of a tag, which ignored it; "+
		"to route by a header, use a custom configuration in envoy.external_config",
		"envoy.dynamic_routing", "envoy.lua_filter"),
	replaced(branch, "use triton.readinessProbe.path for HTTP, or triton.readinessProbe.command; the tags ignored it",
		"triton.readinessProbe.exec", "triton.readinessProbe.grpc", "triton.readinessProbe.httpGet"),
	replaced(branch, "use triton.extraContainers for custom containers", "modelLoader", "model_loader"),
	replaced("before 0.1", "install one release for each entry of servers, with its own values file", "servers", "common"),
	dropped(branch, "the chart's own image has no shell and installs nothing", "metricsCollector.image"),
	replaced(branch, "Triton is the only server of this chart", "triton.nereid"),
)

const (
	ownPrometheus = "use prometheus.external with your own Prometheus"
	ownGrafana    = "use your own Grafana, with the dashboards from grafana.dashboardConfigMap"
	ownTempo      = "opentelemetry-collector.config.exporters.otlp.endpoint can send traces to your own Tempo"
	ownCollector  = "envoy.tracing.host can send traces to your own collector"
)

// subcharts holds keys of the subcharts of 0.2 and 0.3, which the chart's own
// templates replace.
var subcharts = slices.Concat(
	replaced(all, "create your own Service, or use grafana.ingress: the chart's Service is a ClusterIP at port 80", "grafana.service"),
	replaced(all, "list existing Alertmanagers in prometheus.server.alertmanagers", "prometheus.alertmanagerFiles"),
)

// Sections holds what to do about the subcharts' other keys.
var Sections = []Row{
	{Key: "prometheus", Now: ownPrometheus},
	{Key: "grafana", Now: ownGrafana},
	{Key: "tempo", Now: ownTempo},
	{Key: "opentelemetry-collector", Now: ownCollector},
}
