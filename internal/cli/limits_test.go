package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/cli"
)

// patience is how much longer a refusal may take than the same command with ordinary values. Without bounds it takes
// from 200 times as long to forever, with them at most 15 times.
const patience = 60

// Values of absurd sizes are refused, by every command that reads them, in words and at once.
func TestAbsurdSizes(t *testing.T) {
	repeat := strings.Repeat
	list := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, item+"\n", i)
		}
		return b.String()
	}
	for _, tc := range []struct{ name, values, want string }{
		{
			"parentheses", "serverLoadMetric: " + repeat("(", 300_000) + "up" + repeat(")", 300_000),
			"serverLoadMetric: must be at most 16384 characters, got 600002",
		},
		{"differences", "serverLoadMetric: up" + repeat(" -up", 150_000), "serverLoadMetric: must be at most 16384 characters, got 600002"},
		{
			"matchers", "serverLoadSelector: {envoy: '" + repeat(`a="b",`, 50_000) + "'}",
			"serverLoadSelector.envoy: must be at most 16384 characters, got 300000",
		},
		{
			"nested-functions", "serverLoadMetric: " + repeat("sum(", 3000) + "up" + repeat(")", 3000),
			"serverLoadMetric: must be nested at most 500 levels deep, got 3001",
		},
		{"chain", "serverLoadMetric: up" + repeat("+up", 5000), "serverLoadMetric: must be nested at most 500 levels deep, got 5001"},
		{
			"ports", "triton: {service: {ports: [\n" + list(20_000, "{name: p, port: %d, targetPort: 1},") + "]}}",
			"triton.service.ports: must be a list of at most 1000, got one of 20000",
		},
		{"environment", "triton:\n  env:\n" + list(20_000, "  - {name: A%d}"), "triton.env: must be a list of at most 1000, got one of 20000"},
		{"labels", "envoy:\n  labels:\n" + list(20_000, "    l%d: x"), "envoy.labels: must have at most 1000 keys, got 20000"},
		{
			"handed-through", "triton: {affinity: {nodeAffinity: {a: [\n" + list(2000, "%d,") + "]}}}",
			"triton.affinity.nodeAffinity.a: must be a list of at most 1000, got one of 2000",
		},
		{
			"handed-to-grafana", "grafana: {grafana.ini: {smtp: {\n" + list(2000, "k%d: x,") + "}}}",
			`grafana."grafana.ini".smtp: must have at most 1000 keys, got 2000`,
		},
		{
			"handed-to-the-collector", "opentelemetry-collector: {config: {processors: {\n" + list(2000, "k%d: x,") + "}}}",
			"opentelemetry-collector.config.processors: must have at most 1000 keys, got 2000",
		},
		{"long-text", "triton: {args: ['" + repeat("x", 70_000) + "']}", "triton.args[0]: must be at most 65536 characters, got 70000"},
		{
			"nested-objects", "triton: {affinity: " + repeat("{a: ", 90) + "1" + repeat("}", 90) + "}",
			"triton.affinity" + repeat(".a", 16) + ": must be nested at most 16 levels deep, got an object",
		},
		{"nested-lists", "global: {a: " + repeat("[", 9000) + repeat("]", 9000) + "}", "values: must be nested at most 100 levels deep"},
		{"unknown-keys", list(70_000, "key%d: 1"), "values: has 69900 more unknown keys"},
		{"unknown-keys-of-a-section", "envoy:\n" + list(30_000, "  key%d: {}"), "envoy: has 29900 more unknown keys"},
		{
			"much-of-everything", "triton: {args: [" + repeat("'"+repeat("x", 60_000)+"', ", 10) + "]}",
			"values: must be at most 524288 bytes in all, as JSON, got ",
		},
		{"file", "global: {a: '" + repeat("x", 1<<20) + "'}", "must be at most 1048576 bytes"},
		{
			"aliases", "global: {a: &a '" + repeat("x", 65_000) + "', b: [" + repeat("*a,", 200_000) + "]}",
			"must be at most 1048576 bytes with its aliases (*) written out",
		},
		{"alias-of-itself", "global: {a: &a [*a]}", "must be at most 1048576 bytes with its aliases (*) written out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, []byte(tc.values+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"template", "-f"}, {"lint"}, {"migrate"}, {"query", "needed-replicas", "-f"}} {
				usual := patience * timeOf(t, "triton: {replicas: 2}", append(args, "-")...).took
				said := timeOf(t, "", append(args, file)...)
				if !strings.Contains(said.text, tc.want) {
					t.Errorf("%s: want %q in %.300s", args[0], tc.want, said.text)
				}
				if said.took > usual {
					t.Errorf("%s: took %s, want at most %s", args[0], said.took, usual)
				}
			}
			if said := timeOf(t, tc.values, "lint", "-"); !strings.Contains(said.text, tc.want) {
				t.Errorf("from standard input: want %q in %.300s", tc.want, said.text)
			}
		})
	}
}

type answer struct {
	text string
	took time.Duration
}

// timeOf runs a command that prints to one output alone.
func timeOf(t *testing.T, stdin string, args ...string) answer {
	t.Helper()
	var said bytes.Buffer
	start := time.Now()
	cli.Run(t.Context(), args, strings.NewReader(stdin), &said, &said)
	return answer{said.String(), time.Since(start)}
}

// What a flag or a scenario says has the same bounds.
func TestAbsurdSizesElsewhere(t *testing.T) {
	scenario := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(scenario, bytes.Repeat([]byte("#\n"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(`a="b",`, 50_000)
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"--envoy-selector: must be at most 16384 characters, got 300000", []string{"query", "needed-replicas", "--envoy-selector", long}},
		{"serverLoadMetric: must be at most 16384 characters, got 300000", []string{"template", "--set-literal", "serverLoadMetric=" + long}},
		{"must be at most 1048576 bytes", []string{"template", "--set-file", "serverLoadMetric=" + scenario}},
		{"must be at most 1048576 bytes", []string{"simulate", scenario}},
	} {
		if said := timeOf(t, "", tc.args...); !strings.Contains(said.text, tc.want) {
			t.Errorf("%s: want %q in %.300s", tc.args[0], tc.want, said.text)
		}
	}
}

// What is as large as it may be is accepted.
func TestLargestValues(t *testing.T) {
	const most, longest, query = 1000, 65_536, 16_384
	var env strings.Builder
	for i := range most {
		fmt.Fprintf(&env, "{name: A%d, value: x},", i)
	}
	metric := `up{a="` + strings.Repeat("x", query-len(`up{a=""}`)) + `"}`
	values := fmt.Sprintf("serverLoadMetric: '%s'\ntriton: {args: ['%s'], env: [%s], affinity: {x: %s1%s}}\nglobal: {a: '%s'}\n",
		metric, strings.Repeat("y", longest), env.String(), strings.Repeat("[", 14), strings.Repeat("]", 14), strings.Repeat("z", 600_000))
	if said := timeOf(t, values, "lint", "-"); strings.Contains(said.text, "must") {
		t.Errorf("%.1000s", said.text)
	}
	chain := "up" + strings.Repeat("+up", 499)
	said := timeOf(t, "serverLoadMetric: "+chain, "query", "needed-replicas", "--pretty", "-f", "-")
	if strings.Count(said.text, "up") != 500 {
		t.Errorf("%.300s", said.text)
	}
}
