package migrate

import (
	"fmt"
	"slices"
)

// What only unreleased branches of SuperSONIC had, and files written for them.

// holds are the sections that let the first calls of a fleet at zero replicas wait.
var holds = []string{"scaleFromZero", "keda.scaleFromZero"}

// dropHolds takes those sections away where they are off.
func (r *run) dropHolds() {
	for _, section := range holds {
		if !r.held() || r.get(section+".enabled") != false {
			continue
		}
		for _, p := range r.parts {
			p.take(section, "it was off; keda.minReplicaCount decides whether the fleet may be at zero replicas")
		}
	}
}

// held reports whether the values are for a branch with one of those sections.
func (r *run) held() bool {
	return slices.ContainsFunc(r.parts, func(p *part) bool {
		return slices.ContainsFunc(holds, func(section string) bool { return has(p.old, split(section)) })
	})
}

// holdOf moves the switch that made calls wait at zero replicas.
func (p *part) holdOf(section string) {
	p.moveTo(section+".enabled", split(section+".enabled"), []string{"envoy.hold.enabled"})
}

// cooldown began after a start, and here it has to outlast one.
func cooldown(r *run, p *part) {
	const key = "keda.cooldownPeriod"
	seconds, isNumber := lookUp(p.vals, split(key)).(float64)
	if !isNumber || !r.held() || r.get("keda.minReplicaCount") != 0.0 && r.get("keda.zeroIdleReplicas") != true {
		return
	}
	if least := r.leastCooldown(); seconds < least {
		p.take(key, fmt.Sprintf("it must be at least %v, the time to load the models and the scale-down window, as it is by default", least))
	}
}

// leastCooldown is the larger of the scale-down window and the startup budget.
func (r *run) leastCooldown() float64 {
	number := func(key string, usual float64) float64 {
		if n, ok := r.get(key).(float64); ok {
			return n
		}
		return usual
	}
	const probe = "triton.startupProbe."
	start := number(probe+"initialDelaySeconds", 0) + number(probe+"periodSeconds", 10)*number(probe+"failureThreshold", 60)
	return max(number("keda.scaleDown.stabilizationWindowSeconds", 600), start)
}

// typeOfMetric differed between those branches.
func typeOfMetric(r *run, p *part) {
	metric, _ := lookUp(p.vals, []string{"serverLoadMetric"}).(string)
	if metric != "" && r.held() && r.get("keda.metricType") == nil {
		p.left("keda.metricType", "set it: AverageValue if serverLoadMetric measures the whole fleet, Value if it measures one replica")
	}
}

func serverType(p *part) {
	if kind := lookUp(p.vals, []string{"triton", "type"}); kind != "triton" {
		p.left("triton.type", "must be triton, the only server that this chart runs, got "+flowText(kind))
		return
	}
	p.done(p.remove([]string{"triton", "type"}), "inferenceServer.type", "removed: Triton is the only server", "remove it")
}

const readiness = "triton.readinessProbe."

// readinessOfGRPC asked Triton what the chart's probe asks.
func readinessOfGRPC(p *part) {
	probe, isMap := lookUp(p.vals, split(readiness+"grpc")).(map[string]any)
	if port, set := probe["port"]; isMap && len(probe) == 1 && set && port != 8001.0 {
		return
	}
	if service := probe["service"]; service == nil || service == "" {
		p.take(readiness+"grpc", "the chart's probe asks Triton the same over HTTP")
	}
}

// readinessOfHTTP named the path inside a section.
func readinessOfHTTP(p *part) {
	const section = readiness + "httpGet"
	if port := lookUp(p.vals, split(section+".port")); port != nil && port != "http" && port != 8000.0 {
		return
	}
	p.take(section+".port", "the chart's probe asks the port named http")
	if has(p.vals, split(section+".path")) {
		p.moveTo(section+".path", split(section+".path"), []string{readiness + "path"})
	}
}
