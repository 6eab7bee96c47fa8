package chart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
	"github.com/fastmachinelearning/supersonic/promql"
)

// watched holds values with which the chart renders every rule.
const watched = `
keda: {enabled: true, maxReplicaCount: 4}
envoy: {rate_limiter: {prometheus_based: {enabled: true}}}
prometheus:
  enabled: true
  rules: {alertLabels: {team: inference}}
opentelemetry-collector: {enabled: true}
tempo: {enabled: true}
`

const prometheusConfigMap = "prometheus/configmap.yaml"

// rule is a rule of Prometheus in the chart.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func rulesOf(t testing.TB, text string) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// promtool runs the real promtool in a folder.
func promtool(t testing.TB, dir string, args ...string) {
	t.Helper()
	command := exec.Command(tools.Path(t, "promtool"), args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Records are the library's queries.
func TestRecords(t *testing.T) {
	values := watched + `
serverLoadRateInterval: 90s
serverLoadReplicas: instant
serverLoadInFlight: larger
serverLoadExcludeModels: [pipeline]
`
	p := promql.ForRelease("sonic", "cms")
	p.RateInterval, p.Replicas, p.InFlight, p.ExcludeModels = 90*time.Second, promql.Instant, promql.Larger, []string{"pipeline"}
	rules := map[string]rule{}
	for _, r := range rulesOf(t, manifest.File(t, manifest.Render(t, values), prometheusConfigMap, "rules.yml")) {
		rules[r.Record] = r
	}
	for _, q := range promql.Queries() {
		if q.Record == "" {
			continue
		}
		r, ok := rules[q.Record]
		if !ok {
			t.Errorf("%s is not recorded", q.Record)
			continue
		}
		want, err := q.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := promql.Parse(r.Expr)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s records\n%s\nwant\n%s\n(%v)", r.Record, r.Expr, want, err)
		}
		if r.Labels["release"] != "sonic" || r.Labels["namespace"] != "cms" {
			t.Errorf("%s has labels %v", r.Record, r.Labels)
		}
	}
}

func TestGateReadsRecord(t *testing.T) {
	query, err := promql.OccupancyRatio(promql.ForRelease("sonic", "cms"))
	if err != nil {
		t.Fatal(err)
	}
	const record = `supersonic:occupancy_ratio{namespace="cms",release="sonic"}`
	const gate = "envoy: {rate_limiter: {prometheus_based: {enabled: true}}}\n"
	const operator = "external: {enabled: true, url: metrics.example.org}, podMonitors: {enabled: true}"
	for _, c := range []struct{ name, values, want string }{
		{"embedded", "prometheus: {enabled: true}", record},
		{"embedded-told-not-to", "prometheus: {enabled: true, rules: {gateReadsRecord: false}}", query.String()},
		{"embedded-without-rules", "prometheus: {enabled: true, rules: {enabled: false}}", query.String()},
		{"external", "prometheus: {external: {enabled: true, url: metrics.example.org}}", query.String()},
		{"operator", "prometheus: {" + operator + "}", query.String()},
		{"operator-told-to", "prometheus: {" + operator + ", rules: {gateReadsRecord: true}}", record},
		{"own-metric", "serverLoadMetric: sum(load)\nprometheus: {enabled: true}", "sum(load)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := manifest.Render(t, gate+c.values).GateQuery()
			if err != nil {
				t.Fatal(err)
			}
			got, err := promql.Parse(text)
			want, wantErr := promql.Parse(c.want)
			if err != nil || wantErr != nil || !got.Equal(want) {
				t.Errorf("the gate asks\n%s\nwant\n%s (%v, %v)", text, c.want, err, wantErr)
			}
		})
	}
}

// TestPrometheusConfig checks settings that no values file uses.
func TestPrometheusConfig(t *testing.T) {
	cases := map[string]string{
		"everything": watched,
		"alertmanagers-and-small": `
prometheus:
  enabled: true
  rules: {enabled: false}
  server:
    retentionSize: ""
    alertmanagers: [{static_configs: [{targets: ["alertmanager:9093"]}]}]
`,
	}
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			m, dir := manifest.Render(t, values), t.TempDir()
			config := manifest.File(t, m, prometheusConfigMap, "prometheus.yml")
			if strings.Contains(config, "rule_files") {
				write(t, dir, "rules.yml", manifest.File(t, m, prometheusConfigMap, "rules.yml"))
			}
			write(t, dir, "prometheus.yml", strings.ReplaceAll(config, "/etc/prometheus/", dir+"/"))
			promtool(t, dir, "check", "config", "--lint-fatal", "prometheus.yml")
		})
	}
}

// TestOperatorRules checks that a Prometheus Operator gets the same rules as the embedded Prometheus.
func TestOperatorRules(t *testing.T) {
	embedded := rulesOf(t, manifest.File(t, manifest.Render(t, watched), prometheusConfigMap, "rules.yml"))
	m := manifest.Render(t, `
keda: {enabled: true, maxReplicaCount: 4}
envoy: {rate_limiter: {prometheus_based: {enabled: true}}}
prometheus:
  external: {enabled: true, url: "http://prometheus-operated:9090"}
  podMonitors: {enabled: true, labels: {release: stack}, interval: 15s}
  rules: {labels: {role: alert-rules}, alertLabels: {team: inference}}
`)
	objects := manifest.Objects(t, m, "prometheus/podmonitors.yaml")
	i := slices.IndexFunc(objects, func(o map[string]any) bool { return o["kind"] == "PrometheusRule" })
	if i < 0 {
		t.Fatal("no PrometheusRule is rendered")
	}
	o := objects[i]
	spec, err := yaml.Marshal(o["spec"])
	if err != nil {
		t.Fatal(err)
	}
	got := rulesOf(t, string(spec))
	if len(got) != len(embedded) {
		t.Errorf("the operator gets %d rules, the embedded Prometheus %d", len(got), len(embedded))
	}
	for i := range got {
		if got[i].Record != embedded[i].Record || got[i].Alert != embedded[i].Alert || got[i].Expr != embedded[i].Expr {
			t.Errorf("rule %d: %v, embedded %v", i, got[i], embedded[i])
		}
	}
}

// Promtool accepts the Prometheus configuration of every values file.
func TestPromtool(t *testing.T) {
	promtool := tools.Path(t, "promtool")
	tried := 0
	for _, c := range cases(t) {
		if !c.on(t, "prometheus", "enabled") || c.on(t, "prometheus", "external", "enabled") {
			continue
		}
		tried++
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := manifest.Data(t, c.manifests(t), "prometheus/configmap.yaml")
			for name, text := range files {
				// Files that the kubelet mounts; promtool looks for them.
				text = strings.ReplaceAll(text, "/etc/prometheus/", dir+"/")
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, errs, err := run(t, promtool, "check", "config", "--lint=all", "--lint-fatal", filepath.Join(dir, "prometheus.yml"))
			if err != nil {
				t.Errorf("promtool: %s%s", out, errs)
			}
		})
	}
	if tried == 0 {
		t.Error("no values file runs a Prometheus")
	}
}
