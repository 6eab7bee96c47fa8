package migrate

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// followers removes names of objects that the chart now derives from the release.
func followers(_ *run, p *part) {
	for _, f := range []struct{ key, suffix string }{
		{"grafana.dashboardsConfigMaps.default", "-grafana-default-dashboard"},
		{"prometheus.server.configMapOverrideName", "prometheus-config"},
		{"prometheus.server.useExistingClusterRoleName", "-prometheus-role"},
		{"prometheus.serviceAccounts.server.name", "-prometheus-sa"},
	} {
		if name, _ := lookUp(p.vals, split(f.key)).(string); strings.HasSuffix(name, f.suffix) {
			p.take(f.key, "the chart names the object itself, after the release")
		}
	}
	p.serviceOf02()
}

// serviceOf02 removes grafana.service if it describes the Service that the chart creates.
func (p *part) serviceOf02() {
	service, isMap := lookUp(p.vals, split("grafana.service")).(map[string]any)
	if !isMap {
		return
	}
	for key, value := range service {
		if !(key == "type" && value == "ClusterIP" || key == "port" && value == 80.0 || key == "targetPort" && value == 3000.0) {
			return
		}
	}
	p.take("grafana.service", "the Service of Grafana is a ClusterIP at port 80 anyway")
}

// admin removes the default login of 0.3.1, admin/admin.
func admin(_ *run, p *part) {
	for _, key := range []string{"grafana.adminUser", "grafana.adminPassword"} {
		switch value := lookUp(p.vals, split(key)); value {
		case "admin":
			p.take(key, "logging in is only possible with the Secret in grafana.admin.existingSecret")
		case nil, "":
		default:
			p.left(key, "put the name and the password into a Secret, and set grafana.admin.existingSecret to its name")
		}
	}
	const role = `grafana."grafana.ini"."auth.anonymous".org_role`
	if lookUp(p.vals, split(role)) == "Admin" {
		p.write(role, "Viewer", "now Viewer: anonymous users have read-only access")
	}
}

const dataSources = `grafana.datasources."datasources.yaml"`

// sources removes Grafana's data sources, which the chart provisions itself. If one
// of them is not the chart's, all of them are kept.
func sources(r *run, p *part) {
	list, isList := lookUp(p.vals, split(dataSources+".datasources")).([]any)
	if !isList || len(list) == 0 {
		return
	}
	for _, item := range list {
		source, _ := item.(map[string]any)
		if !r.isOwnSource(source) {
			return
		}
	}
	p.take("grafana.datasources", "the chart provisions its Prometheus, or the external one, and its Tempo")
}

func (r *run) isOwnSource(source map[string]any) bool {
	address, _ := source["url"].(string)
	host := hostOfURL(address)
	json, _ := source["jsonData"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(json)) {
		if !slices.Contains([]string{"timeInterval", "tlsSkipVerify", "serviceMap", "nodeGraph"}, key) {
			return false
		}
	}
	switch source["type"] {
	case "prometheus":
		external, _ := r.get("prometheus.external.url").(string)
		if r.get("prometheus.external.enabled") == true {
			return external != "" && host == hostOfURL(external)
		}
		return r.isOwnHost(host, "-prometheus-server")
	case "tempo":
		return r.isOwnHost(host, "-tempo")
	}
	return false
}

// isOwnHost reports whether a host is the Service of this release with this suffix.
func (r *run) isOwnHost(host, suffix string) bool {
	service, _, _ := strings.Cut(host, ".")
	name, ok := strings.CutSuffix(service, suffix)
	return ok && slices.Contains(r.instances(), name)
}

// hostOfURL returns the host of an address, which may lack a scheme.
func hostOfURL(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// instances returns the names that the release may have: supersonic, the one given
// or set by nameOverride and, if none is given, those in values that 0.3.1 required
// to contain the release name.
func (r *run) instances() []string {
	names := []string{"supersonic"}
	for _, name := range []any{r.Release, r.get("nameOverride")} {
		if text, _ := name.(string); text != "" {
			names = append(names, text)
		}
	}
	if r.Release != "" {
		return names
	}
	for _, p := range r.parts {
		for key, suffix := range map[string]string{
			"grafana.dashboardsConfigMaps.default":   "-grafana-default-dashboard",
			"prometheus.serviceAccounts.server.name": "-prometheus-sa",
		} {
			text, _ := lookUp(p.old, split(key)).(string)
			if name, ok := strings.CutSuffix(text, suffix); ok && name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// exporters removes addresses of this release's own Tempo and Prometheus.
func exporters(r *run, p *part) {
	const collector = "opentelemetry-collector.config.exporters."
	for _, own := range []struct{ key, suffix string }{
		{"tempo.tempo.metricsGenerator.remoteWriteUrl", "-prometheus-server"},
		{collector + "otlp.endpoint", "-tempo"},
		{collector + "otlphttp.endpoint", "-tempo"},
		{collector + "prometheusremotewrite.endpoint", "-prometheus-server"},
	} {
		address, _ := lookUp(p.vals, split(own.key)).(string)
		if address != "" && r.isOwnHost(hostOfURL(address), own.suffix) {
			p.take(own.key, "the chart knows the addresses of its own parts")
		}
	}
}
