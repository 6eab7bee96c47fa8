package generate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A whole is an expression that has a define of its own.
type whole struct {
	define string
	query  promql.Query
}

// longName makes the formatter break the lines around a hole: it is longer than
// a line.
var longName = "zz_" + strings.Repeat("_", 110)

// compose writes a query with an action in the place of each stand-in and of each
// part that has a define: a term stays on one line, and what is composed of terms
// breaks at them.
func compose(q promql.Query, parts []whole) (string, error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.String())
	if err != nil {
		return "", err
	}
	cut := cutter{parts: parts}
	expr = cut.expr(expr)
	text := expr.String()
	if cut.found {
		// The first line may be indented deeper than the rest, which a YAML block
		// would take for the block's own indentation.
		text = strings.TrimSpace(parser.Prettify(expr))
	}
	return withActions(text)
}

// A cutter takes the parts that have a define out of an expression, from the
// outside in.
type cutter struct {
	parts []whole
	found bool
}

func (c *cutter) expr(e parser.Expr) parser.Expr {
	for _, part := range c.parts {
		if part.query.String() == e.String() {
			c.found = true
			return &parser.VectorSelector{Name: longName + strings.ReplaceAll(part.define, ".", ":")}
		}
	}
	switch e := e.(type) {
	case *parser.ParenExpr:
		e.Expr = c.expr(e.Expr)
	case *parser.BinaryExpr:
		e.LHS, e.RHS = c.expr(e.LHS), c.expr(e.RHS)
	case *parser.AggregateExpr:
		e.Expr = c.expr(e.Expr)
	case *parser.Call:
		for i := range e.Args {
			e.Args[i] = c.expr(e.Args[i])
		}
	}
	return e
}

var cutPart = regexp.MustCompile(longName + `([A-Za-z:]+)`)

// holes are stand-ins that no text of a query holds by chance, and the template
// action that takes the place of each.
var holes = []struct{ standIn, action string }{
	{`{` + hole + `="triton"}`, `{ {{- template "supersonic.promql.tritonMatchers" . -}} }`},
	{`,` + hole + `="envoy"}`, `, {{- .envoySelector -}} }`},
	{`[1h57m]`, `[{{ .rateInterval }}]`},
}

func withActions(text string) (string, error) {
	for _, h := range holes {
		text = strings.ReplaceAll(text, h.standIn, h.action)
	}
	text = cutPart.ReplaceAllStringFunc(text, func(name string) string {
		define := strings.ReplaceAll(cutPart.FindStringSubmatch(name)[1], ":", ".")
		return fmt.Sprintf(`{{ template "supersonic.promql.%s" . }}`, define)
	})
	if strings.Contains(text, "zz_") || strings.Contains(text, "1h57m") {
		return "", fmt.Errorf("a stand-in is left in %s", text)
	}
	for series, action := range map[string]string{"envoy_cluster_": ".envoySelector", "nv_inference_": "tritonMatchers"} {
		if strings.Contains(text, series) != strings.Contains(text, action) {
			return "", fmt.Errorf("a stand-in was not found in %s", text)
		}
	}
	return text, nil
}
