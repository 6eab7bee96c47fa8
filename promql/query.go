package promql

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/promql/parser"
)

// A Query is an expression that the Prometheus parser has parsed and
// type-checked: an instant vector. The zero Query is no query.
type Query struct {
	expr parser.Expr
	text string
}

// Limits of a custom metric and of label matchers. Beyond them, parsing and printing
// can take minutes.
const (
	MaxLength = 16384 // characters
	MaxDepth  = 500   // levels of nesting; each operator in a chain is one
)

// Parse parses a custom metric and keeps its text verbatim. It returns an error if
// the text does not parse, with the parser's position, is not an instant vector, or
// exceeds [MaxLength] or [MaxDepth].
func Parse(text string) (Query, error) {
	if err := checkLength(text); err != nil {
		return Query{}, err
	}
	q, err := parseQuery(text)
	if err != nil {
		return Query{}, err
	}
	if d := depth(q.expr); d > MaxDepth {
		return Query{}, fmt.Errorf("must be nested at most %d levels deep, got %d", MaxDepth, d)
	}
	return q, nil
}

func checkLength(text string) error {
	if n := utf8.RuneCountInString(text); n > MaxLength {
		return fmt.Errorf("must be at most %d characters, got %d", MaxLength, n)
	}
	return nil
}

func depth(e parser.Node) int {
	deepest := 0
	for child := range parser.ChildrenIter(e) {
		deepest = max(deepest, depth(child))
	}
	return deepest + 1
}

func parseQuery(text string) (Query, error) {
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
	q, err := parseQuery(text)
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

// same reports whether two trees are the same expression, ignoring parentheses. Their
// text does not show it: the printer adds no parentheses, so trees with different
// nesting can print alike.
func same(a, b parser.Expr) bool { return nested(a) == nested(b) }

// nested formats a tree with the kind of each node and brackets around its children.
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
