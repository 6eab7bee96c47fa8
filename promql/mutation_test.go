package promql_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/fastmachinelearning/supersonic/promql"
)

// TestMutations removes each part of each query, or replaces it by a similar one, and
// checks that the answer of at least one script changes. Otherwise the part is not
// needed or not tested. With -v it lists the mutations and the scripts that detect
// them.
func TestMutations(t *testing.T) {
	eng := newEngine(t)
	asked := questions(t, eng)
	for _, m := range mutations(t) {
		if script := caughtBy(t, eng, m, asked); script != "" {
			t.Logf("%-15s %s\n\t=> %s", script, m.part, m.becomes)
		} else {
			t.Errorf("no script tells apart\n\t%s\nand\n\t%s", m.part, m.becomes)
		}
	}
}

// A question is a query that a script asks of the series loaded so far.
type question struct {
	script, query, answer string
	series                storage.Queryable
	at                    time.Time
}

var (
	load = regexp.MustCompile(`(?m)^load .*\n(?:[ \t]+.*\n)+`)
	eval = regexp.MustCompile(`^eval instant at (\S+) (.*)\n`)
)

// questions reads the scripts and evaluates their queries.
func questions(t *testing.T, eng *engine.Engine) []question {
	var all []question
	for _, path := range scripts(t) {
		text, err := expand(uncommented(readFile(t, path)))
		if err != nil {
			t.Fatal(err)
		}
		var loaded string
		var series storage.Queryable
		for _, command := range regexp.MustCompile(`(?m)^(load|eval|clear)`).FindAllStringIndex(text, -1) {
			rest := text[command[0]:]
			if strings.HasPrefix(rest, "clear") {
				loaded = ""
			} else if block := load.FindString(rest); strings.HasPrefix(rest, "load") {
				loaded += block + "\n"
				series = promqltest.LoadedStorage(t, loaded)
			} else {
				q := parseEval(t, rest)
				q.script, q.series = scriptName(path), series
				q.answer = answer(eng, q, q.query)
				all = append(all, q)
			}
		}
	}
	return all
}

func parseEval(t *testing.T, text string) question {
	t.Helper()
	parts := eval.FindStringSubmatch(text)
	if parts == nil {
		t.Fatalf("must be an instant query, got %q", text)
	}
	after, err := promql.ParseDuration(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	return question{query: parts[2], at: time.Unix(0, 0).Add(after)}
}

// answer returns the engine's answer, to six digits.
func answer(eng *engine.Engine, q question, query string) string {
	run, err := eng.NewInstantQuery(context.Background(), q.series, nil, query, q.at)
	if err != nil {
		return err.Error()
	}
	defer run.Close()
	result := run.Exec(context.Background())
	if result.Err != nil {
		return result.Err.Error()
	}
	var text strings.Builder
	for _, s := range result.Value.(engine.Vector) {
		fmt.Fprintf(&text, "%s %.6g\n", s.Metric, s.F)
	}
	return text.String()
}

// A mutation replaces a part of a query wherever it occurs.
type mutation struct{ part, becomes string }

func caughtBy(t *testing.T, eng *engine.Engine, m mutation, asked []question) string {
	for _, q := range asked {
		if !strings.Contains(q.query, m.part) {
			continue
		}
		mutant, err := promql.Parse(strings.ReplaceAll(q.query, m.part, m.becomes))
		if err != nil {
			t.Fatalf("%s => %s: %v", m.part, m.becomes, err)
		}
		if answer(eng, q, mutant.String()) != q.answer {
			return q.script
		}
	}
	return ""
}

// mutations returns those of every part of the queries in each mode, and of the
// matchers for a release and for excluded models.
func mutations(t *testing.T) []mutation {
	var all []mutation
	visit := func(word string, mutate func(parser.Node) []mutation) {
		q, err := lookUp(word)
		if err != nil {
			t.Fatal(err)
		}
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.String())
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			for _, m := range mutate(n) {
				if !slices.Contains(all, m) {
					all = append(all, m)
				}
			}
			return nil
		})
	}
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		for _, mode := range []string{"", "(instant)", "(larger)", "(active)", "(measured)", "(think 10s)"} {
			visit(name+mode, partMutations)
			visit(name+mode, matcherMutations)
		}
		visit(name+"(release sonic/cms)", matcherMutations)
	}
	visit("IN_FLIGHT(release sonic/cms, larger)", matcherMutations)
	visit("SERVING(without tokenizer)", matcherMutations)
	visit("QUEUE_LATENCY(without tokenizer)", matcherMutations)
	return all
}

// relatives holds the similar operators and functions that could be used by mistake.
var relatives = map[string][]string{
	"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, ">": {"<"}, "or": {"and"}, "and": {"or"},
	"sum": {"max", "avg"}, "max": {"sum", "min"},
	"rate": {"increase", "irate"}, "increase": {"irate"}, "unless": {"and", "or"}, "count": {"absent"},
	"avg_over_time": {"max_over_time", "min_over_time", "last_over_time"},
	"clamp_min":     {"clamp_max"}, "<": {">"},
}

func partMutations(n parser.Node) []mutation {
	var becomes []string
	switch n := n.(type) {
	case *parser.BinaryExpr:
		becomes = binaryMutations(n)
	case *parser.AggregateExpr:
		for _, other := range relatives[n.Op.String()] {
			becomes = append(becomes, fmt.Sprintf("%s(%s)", other, n.Expr))
		}
	case *parser.Call:
		becomes = callMutations(n)
	case *parser.MatrixSelector:
		becomes = append(becomes, strings.Replace(n.String(), "[1m]", "[2m]", 1))
	case *parser.ParenExpr:
		becomes = append(becomes, n.Expr.String())
	}
	var all []mutation
	for _, b := range becomes {
		all = append(all, mutation{n.String(), b})
	}
	return all
}

func binaryMutations(n *parser.BinaryExpr) []string {
	var becomes []string
	for _, side := range []struct {
		alone parser.Expr
		with  func(number string) string
	}{
		{n.LHS, func(number string) string { return fmt.Sprintf("(%s %s %s)", n.LHS, n.Op, number) }},
		{n.RHS, func(number string) string { return fmt.Sprintf("(%s %s %s)", number, n.Op, n.RHS) }},
	} {
		other := n.RHS
		if side.alone == n.RHS {
			other = n.LHS
		}
		if _, ok := side.alone.(*parser.NumberLiteral); !ok {
			becomes = append(becomes, fmt.Sprintf("(%s)", side.alone)) // the other side is taken out
		}
		if number, ok := other.(*parser.NumberLiteral); ok {
			becomes = append(becomes, side.with(fmt.Sprintf("%g", 1000+10*number.Val)))
		}
	}
	for _, other := range relatives[n.Op.String()] {
		becomes = append(becomes, fmt.Sprintf("(%s %s %s)", n.LHS, other, n.RHS))
	}
	return becomes
}

func callMutations(n *parser.Call) []string {
	var becomes []string
	for _, other := range relatives[n.Func.Name] {
		becomes = append(becomes, fmt.Sprintf("%s(%s)", other, n.Args))
	}
	switch last := n.Args[len(n.Args)-1]; n.Func.Name {
	case "clamp_min":
		becomes = append(becomes, fmt.Sprintf("(%s)", n.Args[0]), fmt.Sprintf("clamp_min(%s, 1 + %s)", n.Args[0], last))
	case "vector":
		becomes = append(becomes, fmt.Sprintf("vector(1 + %s)", last))
	}
	return becomes
}

// matcherMutations drops each matcher of a selector.
func matcherMutations(n parser.Node) []mutation {
	selector, instant := n.(*parser.VectorSelector)
	matrix, ranged := n.(*parser.MatrixSelector)
	if ranged {
		selector = matrix.VectorSelector.(*parser.VectorSelector)
	}
	// The offset follows the range in the text, so only both can be replaced together.
	if !instant && !ranged || instant == (selector.OriginalOffset != 0) {
		return nil
	}
	var all []mutation
	for i, m := range selector.LabelMatchers {
		if m.Name == "__name__" {
			continue
		}
		fewer := *selector
		fewer.LabelMatchers = slices.Delete(slices.Clone(selector.LabelMatchers), i, i+1)
		if ranged {
			all = append(all, mutation{n.String(), (&parser.MatrixSelector{VectorSelector: &fewer, Range: matrix.Range}).String()})
			continue
		}
		all = append(all, mutation{n.String(), fewer.String()})
	}
	return all
}
