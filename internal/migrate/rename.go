package migrate

import (
	"maps"
	"slices"
	"strings"

	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
)

// rename moves each old key to its new path, and removes dropped keys.
func (p *part) rename() {
	p.externalOf02()
	for _, row := range oldkeys.Rows {
		path := p.place(split(row.Key))
		if !has(p.vals, path) {
			continue
		}
		if rule, ok := ownWay[row.Key]; ok {
			rule(p)
			continue
		}
		switch {
		case row.Dropped:
			p.done(p.remove(path), row.Key, "removed: "+row.Now, "remove it")
		case len(row.To) > 0:
			p.moveTo(row.Key, path, row.To)
		case isOff(lookUp(p.vals, path)):
			p.take(oldkeys.Join(path), "it was off")
		}
	}
}

// isOff reports whether a value had no effect: null, or a section that was not enabled.
func isOff(value any) bool {
	section, isMap := value.(map[string]any)
	return value == nil || isMap && section["enabled"] == false
}

// place returns the current path of a key whose section may have moved.
func (p *part) place(path []string) []string {
	for n := len(path) - 1; n > 0; n-- {
		if to, ok := p.moved[oldkeys.Join(path[:n])]; ok && !has(p.vals, path) {
			return append(split(to), path[n:]...)
		}
	}
	return path
}

// moveTo moves a key to the new keys. Keys that are already set are kept.
func (p *part) moveTo(key string, path []string, to []string) {
	var free [][]string
	for _, t := range to {
		if !has(p.vals, split(t)) {
			free = append(free, split(t))
		}
	}
	if len(to) == 1 && len(free) == 0 {
		p.mergeInto(key, path, split(to[0]))
		return
	}
	where := strings.Join(to, " and ")
	if len(free) == 0 {
		p.done(p.remove(path), key, "removed, since "+where+" are set", "remove it")
		return
	}
	why := "its new name"
	if len(to) > 1 {
		why = "which are separate now"
	}
	if p.done(p.move(path, free...), key, "moved to "+where+", "+why, "move it to "+where) && len(to) == 1 {
		p.moved[key] = to[0]
	}
}

// mergeInto moves the contents of a section into one that exists already.
func (p *part) mergeInto(key string, path, to []string) {
	section, _ := lookUp(p.vals, path).(map[string]any)
	_, isMap := lookUp(p.vals, to).(map[string]any)
	if len(section) == 0 || !isMap {
		p.done(p.remove(path), key, "removed, since "+oldkeys.Join(to)+" is set", "remove it")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		inner := key + "." + name
		now := []string{oldkeys.Join(append(slices.Clone(to), name))}
		for _, r := range oldkeys.Rows {
			if r.Key == inner && len(r.To) > 0 {
				now = r.To
			}
		}
		p.moveTo(inner, append(slices.Clone(path), name), now)
	}
	p.moved[key] = oldkeys.Join(to)
}

// isFirst recognizes values for 0.1 by keys that no other version had.
func isFirst(vals map[string]any) bool {
	for _, key := range []string{
		"prometheus.url", "prometheus.serverLoadMetric", "prometheus.serverLoadThreshold", "triton.modelRepository.cvmfsPvc",
	} {
		if has(vals, split(key)) {
			return true
		}
	}
	return false
}

// ownWay holds the keys that need more than a move.
var ownWay = map[string]func(p *part){
	"prometheus.url":                 urlOf01,
	"ingress":                        ingressOf01,
	"envoy.ingress.hosts":            func(p *part) { p.hostOf("envoy.ingress") },
	"metricsCollector.ingress.hosts": func(p *part) { p.hostOf("metricsCollector.ingress") },
	"triton.type":                    serverType,
	"scaleFromZero.enabled":          func(p *part) { p.holdOf("scaleFromZero") },
	"keda.scaleFromZero.enabled":     func(p *part) { p.holdOf("keda.scaleFromZero") },
	"triton.readinessProbe.grpc":     readinessOfGRPC,
	"triton.readinessProbe.httpGet":  readinessOfHTTP,
}

// externalOf02 turns prometheus.external from a boolean into a section, or installs
// the Prometheus that false stood for.
func (p *part) externalOf02() {
	path := split("prometheus.external")
	on, isBool := lookUp(p.vals, path).(bool)
	if isBool && !on && !has(p.vals, split("prometheus.enabled")) {
		p.done(p.setAs(path, "enabled", true), "prometheus.external",
			"now prometheus.enabled: true, because the chart installed a Prometheus unless there was an external one", "set prometheus.enabled")
		return
	}
	if isBool {
		p.write("prometheus.external", map[string]any{"enabled": on}, "now an object, with the switch in enabled")
	}
}

// urlOf01 moves the address of an existing Prometheus, which 0.1 used without a switch.
func urlOf01(p *part) {
	url := lookUp(p.vals, []string{"prometheus", "url"})
	p.moveTo("prometheus.url", []string{"prometheus", "url"}, []string{"prometheus.external.url"})
	enabled := split("prometheus.external.enabled")
	if url != "" && url != nil && !has(p.vals, enabled) && lookUp(p.vals, []string{"prometheus", "enabled"}) != true {
		p.append("prometheus.external.enabled", true, "set to true: in 0.1, a url was enough")
	}
}

// ingressOf01 moves the proxy's Ingress, unless a later version's keys show that it had no effect.
func ingressOf01(p *part) {
	path := []string{"ingress"}
	section, _ := lookUp(p.vals, path).(map[string]any)
	_, third := p.old["keda"]
	if section["enabled"] == true && !third && !has(p.vals, split("envoy.ingress")) {
		p.moveTo("ingress", path, []string{"envoy.ingress"})
		return
	}
	p.done(p.remove(path), "ingress", "removed: it had no effect; use envoy.ingress for the proxy", "remove it")
}

// hostOf turns hosts, which had no effect, into hostName with the first of them.
func (p *part) hostOf(section string) {
	at, hostName := split(section+".hosts"), split(section+".hostName")
	hosts, _ := lookUp(p.vals, at).([]any)
	if host := lookUp(p.vals, hostName); len(hosts) == 0 || host != nil && host != "" {
		p.done(p.remove(at), section+".hosts", "removed: only hostName had an effect", "remove it")
		return
	}
	name, isText := hosts[0].(string)
	if !isText {
		p.left(section+".hosts", "must be written as hostName, with one host")
		return
	}
	var err error
	if has(p.vals, hostName) {
		err = p.remove(hostName)
	}
	if err == nil {
		err = p.setAs(at, "hostName", name)
	}
	p.done(err, section+".hosts", "now hostName: "+name+", since hosts had no effect", "set hostName")
	for _, other := range hosts[1:] {
		p.left(section+".hosts", "held "+flowText(other)+" too, but an Ingress of this chart has one host: create another Ingress for it")
	}
}

// tlsOf turns a list of hosts and Secrets, which had no effect, into an object with the Secret.
func (p *part) tlsOf(section string) {
	at := split(section + ".tls")
	list, isList := lookUp(p.vals, at).([]any)
	if !isList {
		return
	}
	secret := ""
	for _, item := range list {
		m, _ := item.(map[string]any)
		if name, ok := m["secretName"].(string); ok && secret == "" {
			secret = name
		}
	}
	switch {
	case secret == "":
		p.done(p.remove(at), section+".tls", "removed: it had no effect, and TLS is on", "remove it")
	case section == "envoy.ingress":
		p.write(section+".tls", map[string]any{"secretName": secret}, "now an object, of which only secretName is needed")
	}
}

// setAs changes the name of a key and gives it a scalar value.
func (p *part) setAs(path []string, name string, value any) error {
	g := *p.file
	if err := g.set(path, value); err != nil {
		return err
	}
	if err := g.rename(path, name); err != nil {
		return err
	}
	*p.file = g
	return nil
}
