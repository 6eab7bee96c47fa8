package chart_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// alertValues holds the values for those files of testdata/alerts that need others than watched.
var alertValues = map[string]string{
	"fleet-at-zero": strings.Replace(watched, "maxReplicaCount: 4", "maxReplicaCount: 4, zeroIdleReplicas: true", 1),
}

const evaluation = 15 * time.Second // interval of the files of testdata/alerts

// TestAlerts runs promtool's own unit tests, the files of testdata/alerts.
func TestAlerts(t *testing.T) {
	tools.Path(t, "promtool")
	files, err := filepath.Glob("testdata/alerts/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			values, ok := alertValues[name]
			if !ok {
				values = watched
			}
			dir := t.TempDir()
			write(t, dir, "rules.yml", manifest.File(t, manifest.Render(t, values), prometheusConfigMap, "rules.yml"))
			write(t, dir, "case.yaml", string(text))
			promtool(t, dir, "test", "rules", "case.yaml")
			seen(t, text, fires, quiet)
		})
	}
	for _, name := range alertNames(t, watched) {
		if !fires[name] || !quiet[name] {
			t.Errorf("testdata/alerts: %s has a case that fires: %t, one that doesn't: %t", name, fires[name], quiet[name])
		}
	}
}

// alertNames returns the alerts in the rendered rules, sorted.
func alertNames(t *testing.T, values string) []string {
	t.Helper()
	var names []string
	for _, r := range rulesOf(t, manifest.File(t, manifest.Render(t, values), prometheusConfigMap, "rules.yml")) {
		if r.Alert != "" {
			names = append(names, strings.TrimPrefix(r.Alert, "Supersonic"))
		}
	}
	slices.Sort(names)
	return names
}

// seen records which alerts a file of cases expects to fire, and which not. An alert that fires must not have fired at the
// previous evaluation.
func seen(t *testing.T, text []byte, fires, quiet map[string]bool) {
	t.Helper()
	type expected struct {
		Name string           `json:"alertname"`
		At   string           `json:"eval_time"`
		Want []map[string]any `json:"exp_alerts"`
	}
	var file struct {
		Tests []struct {
			Name   string
			Alerts []expected `json:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	at := func(e expected) time.Duration {
		d, err := time.ParseDuration(e.At)
		if err != nil {
			t.Errorf("eval_time: %v", err)
		}
		return d
	}
	for _, c := range file.Tests {
		of := quiet
		for _, a := range c.Alerts {
			if len(a.Want) == 0 {
				continue
			}
			of = fires
			if !slices.ContainsFunc(c.Alerts, func(b expected) bool {
				return b.Name == a.Name && len(b.Want) == 0 && at(a)-at(b) == evaluation
			}) {
				t.Errorf("%s: %s fires at %s; 15 s before, it must be quiet", c.Name, a.Name, a.At)
			}
		}
		for _, a := range c.Alerts {
			of[strings.TrimPrefix(a.Name, "Supersonic")] = true
		}
	}
}

func TestAlertsSayWhatToDo(t *testing.T) {
	for _, r := range rulesOf(t, manifest.File(t, manifest.Render(t, watched), prometheusConfigMap, "rules.yml")) {
		if r.Alert == "" {
			continue
		}
		if r.For == "" || r.Labels["severity"] == "" || r.Labels["team"] != "inference" || r.Labels["release"] != "sonic" ||
			r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: for %q, labels %v, annotations %v", r.Alert, r.For, r.Labels, r.Annotations)
		}
	}
}

// An alert is rendered only if it can resolve: if the release has the series that it reads, and if the values do not
// already follow its advice.
func TestAlertsFollowTheValues(t *testing.T) {
	always := []string{"PodsUnschedulable", "RequestsFail"}
	ofEnvoy := []string{
		"CallsFail", "DurationsMissing", "EnvoyNotScraped", "RequestTimeMissing", "TritonNotScraped", "WakingSlowly", "WindowTooShort",
	}
	ofBuiltIn := []string{"DecoupledBackEnd", "RequestsTooShort"}
	ofSize := []string{"FleetAtMaximum", "FleetTooSmall"}
	ofGate := []string{"GateBlind", "GateNotRunning", "GateRefusing"}
	ownMetric := "serverLoadMetric: vector(1)\n"
	prometheus := "prometheus: {enabled: true}\n"
	for _, c := range []struct {
		name, values string
		want         [][]string
	}{
		{"everything", watched, [][]string{always, ofEnvoy, ofBuiltIn, ofSize, ofGate}},
		{"neither KEDA nor the gate", prometheus, [][]string{always, ofEnvoy, ofBuiltIn}},
		{"a metric of the user's own", watched + ownMetric, [][]string{always, ofEnvoy, ofGate}},
		{"no Envoy", prometheus + "envoy: {enabled: false}", [][]string{always}},
		{"no Envoy runs", prometheus + "keda: {enabled: true}\nenvoy: {replicas: 0}", [][]string{always}},
		{
			"an Envoy of the user's own",
			prometheus + "keda: {enabled: true}\nenvoy: {enabled: false}\nserverLoadSelector: {envoy: 'app=\"edge\"'}",
			[][]string{always, ofEnvoy, ofBuiltIn, ofSize},
		},
		{
			"no durations are counted",
			prometheus + ownMetric + "triton: {args: [tritonserver, --metrics-config=counter_latencies=false]}",
			[][]string{always, {"CallsFail", "EnvoyNotScraped", "RequestTimeMissing", "WakingSlowly", "WindowTooShort"}},
		},
	} {
		want := slices.Concat(c.want...)
		slices.Sort(want)
		if diff := cmp.Diff(want, alertNames(t, c.values)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Alerts about replicas that start wait for twice the startup budget.
func TestStartUpAlerts(t *testing.T) {
	for probe, want := range map[string]string{
		"{initialDelaySeconds: 300, periodSeconds: 10, failureThreshold: 60}": "1800s",
		"{reset: true, periodSeconds: 10, failureThreshold: 600}":             "1200s",
		"{periodSeconds: 1, failureThreshold: 30}":                            "600s",
	} {
		values := watched + "triton: {startupProbe: " + probe + "}\n"
		for _, r := range rulesOf(t, manifest.File(t, manifest.Render(t, values), prometheusConfigMap, "rules.yml")) {
			if (r.Alert == "SupersonicWakingSlowly" || r.Alert == "SupersonicFleetTooSmall") && r.For != want {
				t.Errorf("startupProbe %s: %s waits for %s, want %s", probe, r.Alert, r.For, want)
			}
		}
	}
}

// With a custom metric, the alert about an Envoy that is not scraped does not claim that the load is unknown.
func TestAlertWithOwnMetric(t *testing.T) {
	m := manifest.Render(t, watched+"serverLoadMetric: vector(1)\n")
	rules := rulesOf(t, manifest.File(t, m, prometheusConfigMap, "rules.yml"))
	i := slices.IndexFunc(rules, func(r rule) bool { return r.Alert == "SupersonicEnvoyNotScraped" })
	if i < 0 {
		t.Fatal("the alert is missing")
	}
	if text := rules[i].Annotations["description"]; strings.Contains(text, "Both queries") || !strings.Contains(text, "serverLoadMetric") {
		t.Errorf("with a metric of the user's own: %s", text)
	}
}
