package promql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/promql"
)

func TestParseKeepsTheText(t *testing.T) {
	for _, in := range []string{
		`up`,
		`sum by (release) (rate(nv_inference_queue_duration_us{release=~"sonic"}[30s]))`,
		"  sum(\n    up # every target\n  )\n",
		`max_over_time(up[90s:15s] offset 1m) > bool 0.5e0`,
		`vector(1)`,
	} {
		q, err := promql.Parse(in)
		if err != nil {
			t.Errorf("Parse(%q): %v", in, err)
		} else if q.String() != in {
			t.Errorf("Parse(%q) keeps %q", in, q)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "", "unknown position: parse error: no expression found in input"},
		{"open-bracket", "sum(up", "1:7: parse error: unclosed left parenthesis"},
		{"second-line", "sum(\n  rate(up[5m)\n)", "2:13: parse error: unexpected \")\" in subquery or range, expected \":\" or \"]\""},
		{"rate-of-a-difference", "rate(a - b)", "1:6: parse error: expected type range vector in call to function \"rate\", got instant vector"},
		{"no-function", "scala(up)", "1:1: parse error: unknown function with name \"scala\""},
		{"number", "2", "must be an instant vector, got a scalar"},
		{"text", `"up"`, "must be an instant vector, got a string"},
		{"range", "up[5m]", "must be an instant vector, got a range vector"},
		{"number-of-a-series", "scalar(up)", "must be an instant vector, got a scalar"},
		{"long", "up # " + strings.Repeat("é", 16_384), "must be at most 16384 characters, got 16389"},
		{"deep", strings.Repeat("(", 500) + "up" + strings.Repeat(")", 500), "must be nested at most 500 levels deep, got 501"},
		{"deep-on-the-left", "up" + strings.Repeat(" + up", 500), "must be nested at most 500 levels deep, got 501"},
		{
			"deep-in-a-subquery", "rate(" + strings.Repeat("(", 500) + "up" + strings.Repeat(")", 500) + "[5m:])",
			"must be nested at most 500 levels deep, got 503",
		},
		{"template", `up{release="{{ .Release.Name }}"} {{`, `1:35: parse error: unexpected "{"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := promql.Parse(test.in)
			if err == nil {
				t.Fatalf("Parse(%q) = %q, want an error", test.in, q)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("Parse(%q) error (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestQueryEqual(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"spaces", `sum( up )/2`, `sum(up) / 2`, true},
		{"interval", `rate(up[90s])`, `rate(up[1m30s])`, true},
		{"order-of-matchers", `up{a="1",b="2"}`, `up{b="2", a="1"}`, true},
		{"number", `up * 1e3`, `up * 1000`, true},
		{"other-number", `up * 1e3`, `up * 1e6`, false},
		{"other-matcher", `up{a="1"}`, `up{a=~"1"}`, false},
		{"other-interval", `rate(up[1m])`, `rate(up[2m])`, false},
		{"other-order", `a - b`, `b - a`, false},
		{"parentheses", `a - (b - c)`, `a - b - c`, false},
		{"grouping", `sum by (a) (up)`, `sum without (a) (up)`, false},
		{"matching", `a / on (x) b`, `a / b`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := mustParse(t, test.a).Equal(mustParse(t, test.b)); got != test.want {
				t.Errorf("%s equal to %s: %v, want %v", test.a, test.b, got, test.want)
			}
		})
	}
	if !(promql.Query{}).Equal(promql.Query{}) || mustParse(t, "up").Equal(promql.Query{}) {
		t.Error("the zero Query must equal itself alone")
	}
}

func mustParse(t *testing.T, text string) promql.Query {
	t.Helper()
	q, err := promql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestPrettyReadsBack checks that both ways of printing a query parse to the same query.
func TestPrettyReadsBack(t *testing.T) {
	selector, err := promql.ParseSelector(`"app.kubernetes.io/name"="triton",job=~"a\\.b|c"`)
	if err != nil {
		t.Fatal(err)
	}
	var all []promql.Params
	for _, mode := range modes {
		plain := inMode("sonic", mode)
		odd := plain
		odd.Envoy, odd.Triton = selector, selector.With("say", "\"hi\"\n\\o/ {{ }}")
		odd.RateInterval, odd.ExcludeModels = 90*time.Second+time.Millisecond, []string{`a"b`, "c\\d", "é}"}
		all = append(all, plain, odd)
	}
	for name, query := range queries {
		for _, p := range all {
			q, err := query.Build(p)
			if err != nil {
				t.Fatal(err)
			}
			if !mustParse(t, q.String()).Equal(q) || !mustParse(t, q.Pretty()).Equal(q) {
				t.Errorf("%s of %v does not read back:\n%s\n%s", name, p, q, q.Pretty())
			}
		}
	}
	if got := (promql.Query{}).Pretty(); got != "" {
		t.Errorf("the zero Query prints as %q, want nothing", got)
	}
}
