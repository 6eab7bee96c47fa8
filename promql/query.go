package promql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// A Query is an expression that the Prometheus parser has parsed and
// type-checked: an instant vector. The zero Query is no query.
type Query struct {
	expr parser.Expr
	text string
}

// Parse parses a custom metric and keeps its text verbatim. It returns an error
// for what does not parse, with the parser's position, and for what is not an
// instant vector.
func Parse(text string) (Query, error) {
	expr, err := parse(text)
	if err != nil {
		return Query{}, err
	}
	if t := expr.Type(); t != parser.ValueTypeVector {
		return Query{}, fmt.Errorf("must be an instant vector, got a %s", parser.DocumentedType(t))
	}
	return Query{expr: expr, text: text}, nil
}

// compile prints the built tree, parses the result, and compares both trees,
// because printing can change the meaning, for example by omitting parentheses.
func compile(p Params, built parser.Expr) (Query, error) {
	if err := p.Validate(); err != nil {
		return Query{}, err
	}
	text := built.String()
	q, err := Parse(text)
	if err != nil {
		return Query{}, fmt.Errorf("built query %s: %w", text, err)
	}
	if !same(q.expr, built) {
		return Query{}, errors.New("built query does not read back as it was built: " + text)
	}
	return q, nil
}

func parse(text string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(text)
}

// String is the query on one line; of a parsed query, the text that was parsed.
func (q Query) String() string { return q.text }

// Pretty is the query over several lines, as promtool formats it.
func (q Query) Pretty() string {
	if q.expr == nil {
		return ""
	}
	return parser.Prettify(q.expr)
}

// Equal reports whether both are the same expression, however they are written.
func (q Query) Equal(other Query) bool {
	if q.expr == nil || other.expr == nil {
		return q.expr == other.expr
	}
	return same(q.expr, other.expr)
}

// same says whether two trees are one expression, whatever parentheses they have.
// The text alone does not tell: trees of different nesting print alike, since the
// printer adds no parentheses.
func same(a, b parser.Expr) bool { return nested(a) == nested(b) }

// nested writes a tree with the kind of each node and brackets around its children.
func nested(e parser.Expr) string {
	var children []parser.Expr
	kind := e.String()
	switch e := e.(type) {
	case *parser.ParenExpr:
		return nested(e.Expr)
	case *parser.BinaryExpr:
		kind = fmt.Sprintf("%s %t", e.Op, e.ReturnBool)
		if e.VectorMatching != nil {
			kind += fmt.Sprintf(" %+v", *e.VectorMatching)
		}
		children = []parser.Expr{e.LHS, e.RHS}
	case *parser.AggregateExpr:
		kind = fmt.Sprintf("%s %t %v", e.Op, e.Without, e.Grouping)
		children = []parser.Expr{e.Expr}
		if e.Param != nil {
			children = append(children, e.Param)
		}
	case *parser.UnaryExpr:
		kind, children = e.Op.String(), []parser.Expr{e.Expr}
	case *parser.Call:
		kind, children = e.Func.Name, e.Args
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%T %s [", e, kind)
	for _, child := range children {
		text.WriteString(nested(child))
	}
	text.WriteString("]")
	return text.String()
}
