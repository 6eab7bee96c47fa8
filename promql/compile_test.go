package promql

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestLostParentheses builds (a + b) × c without the parentheses, which
// prints as a + b × c and would be read as something else.
func TestLostParentheses(t *testing.T) {
	a, b, c := series("a", Selector{}), series("b", Selector{}), series("c", Selector{})
	built := &parser.BinaryExpr{Op: parser.MUL, LHS: add(a, b), RHS: c, VectorMatching: &parser.VectorMatching{}}
	q, err := compile(ForRelease("sonic", "cms"), built)
	if err == nil || !strings.Contains(err.Error(), "a + b * c") {
		t.Errorf("got %s and the error %v, want one that shows a + b * c", q, err)
	}
	if _, err := compile(ForRelease("sonic", "cms"), mul(add(a, b), c)); err != nil {
		t.Errorf("with parentheses: %v", err)
	}
}
