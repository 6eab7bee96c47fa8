package scrape

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// An Engine evaluates queries on stores, with Prometheus' defaults.
type Engine struct{ engine *promql.Engine }

// NewEngine makes an engine.
func NewEngine() *Engine {
	return &Engine{promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: 2 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
	})}
}

// Values evaluates a query at one time and returns the value of each series.
func (e *Engine) Values(ctx context.Context, s *Store, query string, at time.Duration) ([]float64, error) {
	q, err := e.engine.NewInstantQuery(ctx, s, nil, query, time.UnixMilli(at.Milliseconds()))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	switch answer := q.Exec(ctx); v := answer.Value.(type) {
	case promql.Vector:
		values := make([]float64, len(v))
		for i, sample := range v {
			values[i] = sample.F
		}
		return values, answer.Err
	case promql.Scalar:
		return []float64{v.V}, answer.Err
	default:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return nil, fmt.Errorf("must answer with a vector or a scalar, got %T", v)
	}
}

// A Reading is the data that queries read.
type Reading struct {
	Back time.Duration   // how far back it looks
	All  bool            // any metric
	Name map[string]bool // these metrics, unless All
}

// lookback is how old the sample of an instant selector may be.
const lookback = 5 * time.Minute

// Reads returns the data that queries read.
func Reads(queries []string) (Reading, error) {
	r := Reading{Back: lookback, Name: map[string]bool{}}
	for _, q := range queries {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(q)
		if err != nil {
			return r, err
		}
		parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok {
				r.selector(v, path)
			}
			return nil
		})
	}
	return r, nil
}

func (r *Reading) selector(v *parser.VectorSelector, path []parser.Node) {
	back := lookback + v.OriginalOffset
	for _, n := range path {
		switch n := n.(type) {
		case *parser.MatrixSelector:
			back += n.Range
		case *parser.SubqueryExpr:
			back += n.Range + n.OriginalOffset
		}
	}
	r.Back = max(r.Back, back)
	if v.Name == "" {
		r.All = true
	}
	r.Name[v.Name] = true
}
