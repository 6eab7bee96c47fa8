package migrate

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

// rules change values. Each is applied to every layer, and may read the merged values.
var rules = []func(r *run, p *part){
	tidy, ingressTLS, zeros, repository, images, probes, cooldown,
	limiter, scaling, metricType, typeOfMetric, external, followers, admin, sources, exporters,
}

// isNewer reports whether the values contain keys from after 0.3.1. In such values, 0
// means zero replicas.
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

// zeros replaces values of 0, which meant the default in 0.3.1.
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

// write changes the value of an existing key.
func (p *part) write(key string, value any, text string) {
	p.done(p.set(split(key), value), key, text, "set it to "+flowText(value))
}

// append sets a new key.
func (p *part) append(key string, value any, text string) {
	p.done(p.add(split(key), value), key, text, "set it to "+flowText(value))
}

// take removes a key, if it exists.
func (p *part) take(key, why string) {
	if has(p.vals, split(key)) {
		p.done(p.remove(split(key)), key, "removed: "+why, "remove it")
	}
}

// ingressTLS converts the TLS lists of Ingresses.
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
		p.append(key+".enabled", true, "set to true: in 0.1, a storageType was enough")
	}
}

var (
	digits       = regexp.MustCompile(`^\d+$`)
	minimalImage = regexp.MustCompile(`^(.*/)?tritonserver:[0-9.]+-py3-min$`)
	oldEnvoy     = regexp.MustCompile(`^(.*/)?envoyproxy/envoy:(distroless-)?v1\.[1-3]\d(\.\d+|-latest)$`)
)

func images(_ *run, p *part) {
	if image, _ := lookUp(p.vals, split("triton.image")).(string); minimalImage.MatchString(image) {
		p.write("triton.image", strings.TrimSuffix(image, "-min"), "without -min, which does not contain the server")
	}
	image, _ := lookUp(p.vals, split("envoy.image")).(string)
	found := oldEnvoy.FindStringSubmatch(image)
	switch {
	case found == nil:
	case found[1] == "" || found[1] == "docker.io/":
		p.take("envoy.image", "the chart names the Envoy that it is tested with, 1.40, which its gate and its hold need")
	default:
		p.left("envoy.image", "copy envoyproxy/envoy:distroless-v1.40.0 to that registry and name it: "+
			"the chart is tested with it, and its gate and its hold need it")
	}
}

// startUpFailures allows one hour of probes every 10 s, because there was no limit before.
const startUpFailures = 360

func probes(_ *run, p *part) {
	const key = "triton.startupProbe"
	if port, _ := lookUp(p.vals, split(key+".httpGet.port")).(string); digits.MatchString(port) {
		n, _ := strconv.ParseFloat(port, 64)
		const portKey = key + ".httpGet.port"
		p.done(p.setPlain(split(portKey), port, n), portKey, "quotes removed: in quotes, it is a name", "remove the quotes")
	}
	if lookUp(p.vals, split(key+".reset")) != true {
		return
	}
	const why = "it meant no startup probe, and without one there is no liveness probe either"
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

// milliseconds is the smallest threshold that is taken for a queue latency in
// milliseconds rather than a ratio.
const milliseconds = 10

// scaling removes a threshold in milliseconds from the built-in metric or, with
// KeepScaling, keeps the metric and the threshold of 0.3.1.
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

// keep builds the metric of 0.3.1, which selected by release but not by namespace.
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

// ErrNoRelease is returned if KeepScaling needs the name of the release.
var ErrNoRelease = errors.New("the metric of 0.3.1 contains the name of the release")

const windowOf031 = 30 * time.Second

// keepScaling sets the metric and the scaling rates of 0.3.1, in the last layer
// unless another layer has the key.
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

// writeOrAdd sets a key in the last layer that has it, or else in the last layer.
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

// metricType sets metricType to Value for a custom metric, because 0.3.1 always used that.
func metricType(r *run, p *part) {
	metric, _ := lookUp(p.vals, []string{"serverLoadMetric"}).(string)
	if metric == "" || r.isNewer() || r.get("keda.metricType") != nil {
		return
	}
	r.writeOrAdd("keda.metricType", "Value",
		"set to Value, which 0.3.1 used for serverLoadMetric; the default, AverageValue, is for a metric of the whole fleet")
}

// external tells about a custom configuration in a ConfigMap, which cannot be checked here.
func external(_ *run, p *part) {
	if reflect.DeepEqual(lookUp(p.vals, split("envoy.external_config.load_from_configmap")), true) {
		p.changed("envoy.external_config",
			"not changed; check the ConfigMap: words that begin with $ are no longer replaced there")
	}
}
