package promql_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/fastmachinelearning/supersonic/promql"
)

// FuzzParseSelector checks that the result is an error, or a selector that parses to
// itself when printed, that queries accept, and that only changes which series they
// read.
func FuzzParseSelector(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `release="sonic",namespace="cms"`, `{a=~"b\\.c", d!~'e|f',}`, "a=`b\\c`", `"my.label"="x"`,
		`a="b"} or up{c="d"`, `a="b"} offset 5m #`, `a="b"}#`, `__name__="up"`, `{""}`, `""=""`, `{"a"}`, "a=\"\xff\"", `a="\xff"`,
		"# x\na=\"b\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := promql.ParseSelector(text)
		if err != nil {
			if s.String() != "" {
				t.Errorf("ParseSelector(%q) gives %q and an error", text, s)
			}
			return
		}
		if again, err := promql.ParseSelector(s.String()); err != nil || !again.Equal(s) {
			t.Errorf("ParseSelector(%q) = %q, which reads back as %q, %v", text, s, again, err)
		}
		p := promql.ForRelease("sonic", "cms")
		p.Envoy, p.Triton = s, s
		q, err := promql.NeededReplicas(p)
		if err != nil {
			t.Fatalf("ParseSelector(%q): %v", text, err)
		}
		p.Envoy, p.Triton = promql.Selector{}, promql.Selector{}
		bare, err := promql.NeededReplicas(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := withoutMatchers(t, q.String()); got != bare.String() {
			t.Errorf("ParseSelector(%q) changes the query to %s", text, got)
		}
	})
}

// withoutMatchers keeps the matchers that every query has.
func withoutMatchers(t *testing.T, query string) string {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatal(err)
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			s.LabelMatchers = slices.DeleteFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
				return m.Name != "__name__" && m.Name != "envoy_cluster_name" && m.Name != "envoy_response_code_class"
			})
		}
		return nil
	})
	return expr.String()
}

// FuzzNeededReplicas checks that the result is errors that name their fields, or
// queries that parse to themselves when printed.
func FuzzNeededReplicas(f *testing.F) {
	f.Add("sonic", "cms", int64(time.Minute), "windowed", "completed", "")
	f.Add("", "", int64(90*time.Second+time.Millisecond), "instant", "larger", "a\nb")
	f.Add(`a"b\c`, "\xff\x00\n", int64(1), "windowed", "larger", `model"} or vector(1) #`)
	f.Add("{{ .Values }}", "é", int64(-1), "", "", "\n\n")
	f.Add("x", "y", int64(1<<63-1)/1e6*1e6, "instant", "completed", "a\na")
	f.Fuzz(func(t *testing.T, release, namespace string, interval int64, replicas, inFlight, models string) {
		p := promql.ForRelease(release, namespace)
		p.RateInterval = time.Duration(interval)
		p.Replicas, p.InFlight = promql.Replicas(replicas), promql.InFlight(inFlight)
		if models != "" {
			p.ExcludeModels = strings.Split(models, "\n")
		}
		for name, query := range queries {
			q, err := query.Build(p)
			if (err == nil) != (p.Validate() == nil) {
				t.Fatalf("%s gives the error %v, Validate %v", name, err, p.Validate())
			}
			if err != nil {
				lines(err) // panics for an error that is not a list
				continue
			}
			for _, text := range []string{q.String(), q.Pretty()} {
				if again, err := promql.Parse(text); err != nil || !again.Equal(q) {
					t.Errorf("%s does not read back, %v: %s", name, err, text)
				}
			}
		}
	})
}
