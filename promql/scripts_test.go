package promql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"

	"github.com/fastmachinelearning/supersonic/promql"
)

// queries maps the placeholders in testdata/*.test to queries: NEEDED_REPLICAS is
// needed-replicas.
var queries = func() map[string]promql.Named {
	all := map[string]promql.Named{}
	for _, q := range promql.Queries() {
		all[strings.ToUpper(strings.ReplaceAll(q.Name, "-", "_"))] = q
	}
	return all
}()

// placeholder is a word in capitals and its options: NEEDED_REPLICAS(instant, larger).
var placeholder = regexp.MustCompile(`\b([A-Z][A-Z_]+)\b(?:\(([^)]*)\))?`)

// TestScripts runs every script on Prometheus' own engine.
func TestScripts(t *testing.T) {
	for _, path := range scripts(t) {
		t.Run(scriptName(path), func(t *testing.T) {
			text := readFile(t, path)
			if !placeholder.MatchString(uncommented(text)) {
				t.Fatal("asks no query of the package")
			}
			expanded, err := expand(text)
			if err != nil {
				t.Fatal(err)
			}
			promqltest.RunTest(t, expanded, newEngine(t))
		})
	}
}

func TestScriptsAreRefused(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"unknown-query", "eval instant at 5m NEEDED_REPLICA\n  {} 1", "NEEDED_REPLICA: no such query"},
		{"unknown-option", "eval instant at 5m WAKE_UP(largest)\n  {} 1", "WAKE_UP(largest): no such option"},
		{
			"broken-window", "eval instant at 5m WAKE_UP(window 1.5m)\n  {} 1",
			`WAKE_UP(window 1.5m): must be a duration such as 30s or 1m30s, got "1.5m"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := expand(test.script); err == nil || err.Error() != test.want {
				t.Errorf("got error %v, want %s", err, test.want)
			}
		})
	}
}

// expand replaces the placeholders by their queries, except in comments.
func expand(script string) (string, error) {
	var firstErr error
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		lines[i] = placeholder.ReplaceAllStringFunc(line, func(word string) string {
			q, err := lookUp(word)
			if err != nil && firstErr == nil {
				firstErr = fmt.Errorf("%s: %w", word, err)
			}
			return q.String()
		})
	}
	return strings.Join(lines, "\n"), firstErr
}

// lookUp builds the query that a placeholder names.
func lookUp(word string) (promql.Query, error) {
	parts := placeholder.FindStringSubmatch(word)
	query, ok := queries[parts[1]]
	if !ok {
		return promql.Query{}, fmt.Errorf("no such query")
	}
	p := promql.ForRelease("", "")
	p.Envoy, p.Triton = promql.Selector{}, promql.Selector{}
	if parts[2] == "" {
		return query.Build(p)
	}
	for option := range strings.SplitSeq(parts[2], ", ") {
		if err := set(&p, option); err != nil {
			return promql.Query{}, err
		}
	}
	return query.Build(p)
}

func set(p *promql.Params, option string) (err error) {
	name, value, _ := strings.Cut(option, " ")
	switch name {
	case "instant":
		p.Replicas = promql.Instant
	case "larger":
		p.InFlight = promql.Larger
	case "active":
		p.InFlight = promql.Active
	case "measured":
		p.ThinkTime, p.InFlight = promql.Measured, promql.Active
	case "think":
		p.ThinkTime, err = promql.ParseDuration(value)
	case "utilization":
		p.Utilization, err = strconv.ParseFloat(value, 64)
	case "without":
		p.ExcludeModels = append(p.ExcludeModels, value)
	case "window":
		p.RateInterval, err = promql.ParseDuration(value)
	case "release":
		release, namespace, _ := strings.Cut(value, "/")
		of := promql.ForRelease(release, namespace)
		p.Envoy, p.Triton = of.Envoy, of.Triton
	default:
		err = fmt.Errorf("no such option")
	}
	return err
}

func scripts(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.test")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	return paths
}

func scriptName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".test") }

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func uncommented(script string) string {
	return regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(script, "")
}

// newEngine looks back five minutes for an instant sample, as Prometheus does by default.
func newEngine(t testing.TB) *engine.Engine {
	return promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000_000)
}
