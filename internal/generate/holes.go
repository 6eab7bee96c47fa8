package generate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A whole is an expression with a define of its own.
type whole struct {
	define string
	query  promql.Query
}

// longName is longer than a line, so that the formatter breaks the lines around a
// hole.
var longName = "zz_" + strings.Repeat("_", 110)

// cutOut replaces each part of a query that has a define by a hole, from the outside
// in.
func cutOut(q promql.Query, parts []whole) parser.Expr {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.String())
	if err != nil {
		panic(err) // a query has been parsed before
	}
	return cut(expr, parts)
}

func cut(e parser.Expr, parts []whole) parser.Expr {
	for _, part := range parts {
		if part.query.String() == e.String() {
			return &parser.VectorSelector{Name: part.hole()}
		}
	}
	switch e := e.(type) {
	case *parser.ParenExpr:
		e.Expr = cut(e.Expr, parts)
	case *parser.BinaryExpr:
		e.LHS, e.RHS = cut(e.LHS, parts), cut(e.RHS, parts)
	case *parser.AggregateExpr:
		e.Expr = cut(e.Expr, parts)
	case *parser.Call:
		for i := range e.Args {
			e.Args[i] = cut(e.Args[i], parts)
		}
	}
	return e
}

func (w whole) hole() string { return longName + strings.ReplaceAll(w.define, ".", ":") + ":" }

// filled returns the text of an expression with its holes replaced by their parts.
func filled(e parser.Expr, parts []whole) string {
	text := e.String()
	for _, part := range parts {
		text = strings.ReplaceAll(text, part.hole(), part.query.String())
	}
	return text
}

// written returns the text of the expression with a template action for each stand-in
// and hole. A term is on one line, and a composed query breaks at its terms.
func written(e parser.Expr) (string, error) {
	text := e.String()
	if strings.Contains(text, longName) {
		// The first line may be indented more than the rest, which a YAML block
		// would take for the block's own indentation.
		text = strings.TrimSpace(parser.Prettify(e))
	}
	return withActions(text)
}

var cutPart = regexp.MustCompile(longName + `([A-Za-z:]+):`)

// holes maps stand-ins, which no query contains by chance, to the template actions
// that replace them.
var holes = []struct{ standIn, action string }{
	{`{` + hole + `="triton"}`, `{ {{- template "supersonic.promql.tritonMatchers" . -}} }`},
	{`,` + hole + `="envoy"}`, `, {{- .envoySelector -}} }`},
	{`29m15s`, `{{ .quarterInterval }}`},
	{`1h57m`, `{{ .rateInterval }}`},
	{`15661`, `{{ .thinkSeconds }}`},
	{`6151`, `{{ .threshold }}`},
	{`0.8837`, `{{ .utilization }}`},
}

func withActions(text string) (string, error) {
	for _, h := range holes {
		text = strings.ReplaceAll(text, h.standIn, h.action)
	}
	text = cutPart.ReplaceAllStringFunc(text, func(name string) string {
		define := strings.ReplaceAll(cutPart.FindStringSubmatch(name)[1], ":", ".")
		return fmt.Sprintf(`{{ template "supersonic.promql.%s" . }}`, define)
	})
	if strings.Contains(text, "zz_") {
		return "", fmt.Errorf("a stand-in is left in %s", text)
	}
	for series, action := range map[string]string{"envoy_": ".envoySelector", "nv_inference_": "tritonMatchers"} {
		if strings.Contains(text, series) != strings.Contains(text, action) {
			return "", fmt.Errorf("a stand-in was not found in %s", text)
		}
	}
	return text, nil
}
