package migrate

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

// rules change what keys are set to. Each looks at one layer, and may ask for the
// values of all.
var rules = []func(r *run, p *part){
	tidy, ingressTLS, zeros, repository, images, probes, limiter, scaling, metricType, external, followers, admin, sources, exporters,
}

// isNewer says whether the values are from after 0.3.1, by keys that it did not
// have: there, zero is a size.
func (r *run) isNewer() bool {
	for _, key := range []string{
		"serverAdmissionThreshold", "serverLoadRateInterval", "keda.metricType", "keda.pollingInterval", "keda.cooldownPeriod",
		"keda.wakeUp", "keda.fallback", "scaleFromZero", "keda.scaleFromZero", "envoy.hold",
	} {
		for _, p := range r.parts {
			if has(p.old, split(key)) {
				return true
			}
		}
	}
	return false
}

// zeros were read as not set.
func zeros(r *run, p *part) {
	if r.isNewer() {
		return
	}
	for _, z := range []struct {
		key   string
		meant int
	}{
		{"triton.replicas", 1},
		{"envoy.replicas", 1},
		{"keda.minReplicaCount", 1},
		{"keda.maxReplicaCount", 14},
		{"keda.scaleUp.stabilizationWindowSeconds", 120},
		{"keda.scaleUp.periodSeconds", 30},
		{"keda.scaleUp.stepsize", 1},
		{"keda.scaleDown.stabilizationWindowSeconds", 120},
		{"keda.scaleDown.periodSeconds", 30},
		{"keda.scaleDown.stepsize", 1},
	} {
		if lookUp(p.vals, split(z.key)) == 0.0 {
			p.write(z.key, z.meant, fmt.Sprintf("now %d, which is what 0 meant in 0.3.1; here 0 means zero", z.meant))
		}
	}
}

// write sets a key that is there to another value.
func (p *part) write(key string, value any, text string) {
	p.done(p.set(split(key), value), key, text, "set it to "+flowText(value))
}

// append sets a key that is not there.
func (p *part) append(key string, value any, text string) {
	p.done(p.add(split(key), value), key, text, "set it to "+flowText(value))
}

// take removes a key, if it is there.
func (p *part) take(key, why string) {
	if has(p.vals, split(key)) {
		p.done(p.remove(split(key)), key, "removed: "+why, "remove it")
	}
}

// ingressTLS is a list that had no effect.
func ingressTLS(_ *run, p *part) {
	p.tlsOf("envoy.ingress")
	if has(p.old, split("metricsCollector.ingress.hosts")) {
		p.tlsOf("metricsCollector.ingress")
	}
}

func repository(r *run, p *part) {
	const key = "triton.modelRepository"
	if lookUp(p.vals, split(key+".storageType")) == "cvmfs" {
		p.write(key+".storageType", "cvmfs-hostPath", "now cvmfs-hostPath, its name since 0.3")
	}
	kind, _ := lookUp(p.vals, split(key+".storageType")).(string)
	if p.isFirst && kind != "" && r.get(key+".enabled") == nil {
		p.append(key+".enabled", true, "set to true, which naming a storageType was enough for")
	}
}

var (
	minimalImage = regexp.MustCompile(`^(.*/)?tritonserver:[0-9.]+-py3-min$`)
	oldEnvoy     = regexp.MustCompile(`^(.*/)?envoyproxy/envoy:v1\.30(\.\d+|-latest)$`)
)

func images(_ *run, p *part) {
	if image, _ := lookUp(p.vals, split("triton.image")).(string); minimalImage.MatchString(image) {
		p.write("triton.image", strings.TrimSuffix(image, "-min"), "without -min, which does not contain the server")
	}
	if image, _ := lookUp(p.vals, split("envoy.image")).(string); oldEnvoy.MatchString(image) {
		p.take("envoy.image", "Envoy 1.30 gets no fixes any more; the chart names one that it is tested with")
	}
}

// startUpFailures is an hour of probes at 10 s, for a server that had no limit.
const startUpFailures = 360

func probes(_ *run, p *part) {
	const key = "triton.startupProbe"
	if lookUp(p.vals, split(key+".reset")) != true {
		return
	}
	const why = "it meant no probe at all, and Kubernetes' default timing would restart Triton after 30 s"
	const hour = "now failureThreshold: 360, an hour to load the models"
	if has(p.vals, split(key+".failureThreshold")) {
		p.take(key+".reset", why)
		p.write(key+".failureThreshold", startUpFailures, hour)
		return
	}
	p.done(p.setAs(split(key+".reset"), "failureThreshold", startUpFailures), key+".reset", hour+": "+why, "set failureThreshold")
}

func limiter(_ *run, p *part) {
	if args, set := lookUp(p.vals, []string{"envoy"}).(map[string]any); set && has(p.vals, split("envoy.args")) && args["args"] == nil {
		p.take("envoy.args", "it had no effect")
	}
	const key = "envoy.rate_limiter.prometheus_based.luaConfig"
	if lookUp(p.vals, split(key)) == "cfg/envoy-filter.lua" {
		p.take(key, "the filter is part of the chart")
	}
}

// milliseconds is the threshold from which on it is one of queueing time, and not
// of a ratio.
const milliseconds = 10

// scaling gives the built-in metric its own threshold, or keeps both of 0.3.1.
func scaling(r *run, p *part) {
	metric, _ := r.get("serverLoadMetric").(string)
	if r.KeepScaling {
		r.keepScaling(p)
		return
	}
	threshold, isNumber := lookUp(p.vals, split("serverLoadThreshold")).(float64)
	insists := r.get("keda.metricType") == "AverageValue"
	if metric == "" && isNumber && threshold >= milliseconds && !insists {
		p.take("serverLoadThreshold",
			fmt.Sprintf("it was %v ms of queue latency; the threshold of the built-in metric is a ratio, 2 by default", threshold))
	}
}

// keep makes the metric of 0.3.1, which knew the release and no namespace.
func (r *run) keep() error {
	own, _ := r.get("serverLoadMetric").(string)
	first, _ := r.get("prometheus.serverLoadMetric").(string)
	if !r.KeepScaling || own+first != "" {
		return nil
	}
	names := r.instances()
	if len(names) == 1 && r.Release == "" {
		return ErrNoRelease
	}
	p := promql.Params{
		Triton:       promql.Selector{}.With("release", names[len(names)-1]),
		RateInterval: windowOf031,
		Replicas:     promql.Windowed,
		InFlight:     promql.Completed,
	}
	q, err := promql.QueueLatency(p)
	r.queueLatency = q.String()
	return err
}

// ErrNoRelease says that the metric can't be written without a name.
var ErrNoRelease = errors.New("the metric of 0.3.1 asks for the release: name it")

const windowOf031 = 30 * time.Second

// keepScaling writes the metric and the pace of 0.3.1 out, into the last layer
// where no other has the key.
func (r *run) keepScaling(p *part) {
	if p != r.parts[len(r.parts)-1] {
		return
	}
	for _, kept := range []struct {
		key   string
		value any
		why   string
	}{
		{"serverLoadMetric", r.queueLatency, "set to the built-in metric of 0.3.1, queue latency per batch in milliseconds"},
		{"serverLoadThreshold", 100, "set to the default of 0.3.1"},
		{"keda.metricType", "Value", "set to Value, as in 0.3.1"},
		{"keda.scaleUp.stabilizationWindowSeconds", 60, "set to the default of 0.3.1"},
		{"keda.scaleUp.periodSeconds", 60, "set to the default of 0.3.1"},
		{"keda.scaleUp.stepsize", 1, "set to the default of 0.3.1"},
		{"keda.scaleDown.stabilizationWindowSeconds", 600, "set to the default of 0.3.1"},
		{"keda.scaleDown.periodSeconds", 120, "set to the default of 0.3.1"},
		{"keda.scaleDown.stepsize", 1, "set to the default of 0.3.1"},
	} {
		if old := r.get(kept.key); old == nil || old == "" {
			r.writeOrAdd(kept.key, kept.value, kept.why)
		}
	}
}

// writeOrAdd sets a key in the last layer that has it, or else in the last.
func (r *run) writeOrAdd(key string, value any, text string) {
	p := r.parts[len(r.parts)-1]
	for _, other := range r.parts {
		if has(other.vals, split(key)) {
			p = other
		}
	}
	if has(p.vals, split(key)) {
		p.write(key, value, text)
		return
	}
	p.append(key, value, text)
}

// metricType was always Value.
func metricType(r *run, p *part) {
	metric, _ := lookUp(p.vals, []string{"serverLoadMetric"}).(string)
	if metric == "" || r.isNewer() || r.get("keda.metricType") != nil {
		return
	}
	r.writeOrAdd("keda.metricType", "Value",
		"set to Value, which 0.3.1 used for serverLoadMetric; the default, AverageValue, is for a metric of the whole fleet")
}

// external is what can't be seen in the values.
func external(_ *run, p *part) {
	if reflect.DeepEqual(lookUp(p.vals, split("envoy.external_config.load_from_configmap")), true) {
		p.changed("envoy.external_config",
			"not changed; check the ConfigMap: $WORD is no longer replaced there, and admin.access_log_path must be access_log")
	}
}
