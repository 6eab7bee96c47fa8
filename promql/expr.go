package promql

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// precedence of the operators in use; a higher one binds tighter. All are left
// associative.
var precedence = map[parser.ItemType]int{
	parser.LOR:     1,
	parser.LAND:    2,
	parser.LUNLESS: 2,
	parser.LSS:     3,
	parser.GTR:     3,
	parser.ADD:     4,
	parser.SUB:     4,
	parser.MUL:     5,
	parser.DIV:     5,
}

// binary puts parentheses around an operand that binds looser than its place
// needs: the printer adds none.
func binary(op parser.ItemType, lhs, rhs parser.Expr) parser.Expr {
	return &parser.BinaryExpr{
		Op:             op,
		LHS:            group(lhs, precedence[op]),
		RHS:            group(rhs, precedence[op]+1),
		VectorMatching: matching(op, lhs, rhs),
	}
}

func group(e parser.Expr, need int) parser.Expr {
	if b, ok := e.(*parser.BinaryExpr); ok && precedence[b.Op] < need {
		return &parser.ParenExpr{Expr: e}
	}
	return e
}

func matching(op parser.ItemType, lhs, rhs parser.Expr) *parser.VectorMatching {
	switch {
	case lhs.Type() != parser.ValueTypeVector || rhs.Type() != parser.ValueTypeVector:
		return nil
	case op.IsSetOperator():
		return &parser.VectorMatching{Card: parser.CardManyToMany}
	default:
		return &parser.VectorMatching{Card: parser.CardOneToOne}
	}
}

func add(a, b parser.Expr) parser.Expr { return binary(parser.ADD, a, b) }
func sub(a, b parser.Expr) parser.Expr { return binary(parser.SUB, a, b) }
func mul(a, b parser.Expr) parser.Expr { return binary(parser.MUL, a, b) }
func div(a, b parser.Expr) parser.Expr { return binary(parser.DIV, a, b) }

// or is a if it has a series, and b otherwise.
func or(a, b parser.Expr) parser.Expr { return binary(parser.LOR, a, b) }

// and is a if b has a series, and empty otherwise.
func and(a, b parser.Expr) parser.Expr { return binary(parser.LAND, a, b) }

// unless is a if b has no series, and empty otherwise.
func unless(a, b parser.Expr) parser.Expr { return binary(parser.LUNLESS, a, b) }

// larger is the larger of two vectors of one series without labels. It is b if a is
// empty, and empty if b is.
func larger(a, b parser.Expr) parser.Expr { return or(binary(parser.GTR, a, b), b) }

func zero() parser.Expr { return call("vector", number(0)) }

func orZero(e parser.Expr) parser.Expr { return or(e, zero()) }

func number(v float64) parser.Expr { return &parser.NumberLiteral{Val: v} }

func call(name string, args ...parser.Expr) parser.Expr {
	return &parser.Call{Func: parser.Functions[name], Args: args}
}

// smaller is the smaller of two vectors of one series without labels.
func smaller(a, b parser.Expr) parser.Expr { return or(binary(parser.LSS, a, b), b) }

// atLeast is PromQL's clamp_min: an empty e stays empty.
func atLeast(e parser.Expr, least float64) parser.Expr { return call("clamp_min", e, number(least)) }

func sum(e parser.Expr) parser.Expr   { return &parser.AggregateExpr{Op: parser.SUM, Expr: e} }
func count(e parser.Expr) parser.Expr { return &parser.AggregateExpr{Op: parser.COUNT, Expr: e} }
func maxOf(e parser.Expr) parser.Expr { return &parser.AggregateExpr{Op: parser.MAX, Expr: e} }

func over(e parser.Expr, interval time.Duration) parser.Expr {
	return &parser.MatrixSelector{VectorSelector: e, Range: interval}
}

func rate(e parser.Expr, interval time.Duration) parser.Expr { return call("rate", over(e, interval)) }

// mean is the mean over the range, only of series that have a current sample: the
// range alone still has an answer after its series has become stale.
func mean(e parser.Expr, interval time.Duration) parser.Expr {
	return and(call("avg_over_time", over(e, interval)), e)
}

func series(name string, s Selector) *parser.VectorSelector {
	named := labels.MustNewMatcher(labels.MatchEqual, metricNameLabel, name)
	return &parser.VectorSelector{Name: name, LabelMatchers: append([]*labels.Matcher{named}, s.matchers...)}
}
