package promql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// A Selector restricts the series that a query reads, by label matchers. The zero
// Selector selects all series.
type Selector struct{ matchers []*labels.Matcher }

// standIn opens a selector that is valid whatever matchers follow; one that
// matches the empty string alone would not be.
const standIn = `{x="x",`

// ParseSelector parses label matchers in PromQL syntax, with or without braces:
// `release="sonic",namespace="cms"`. The name of a metric, and a matcher on the
// Envoy cluster, are errors, because the queries set them. An empty string gives
// the zero Selector. An error has the parser's position in text, line:column.
func ParseSelector(text string) (Selector, error) {
	if err := checkLength(text); err != nil {
		return Selector{}, err
	}
	inner, braced := strings.CutPrefix(strings.TrimSpace(text), "{")
	query := standIn + inner
	if !braced {
		query += "}"
	}
	expr, err := parse(query)
	if err != nil {
		before := strings.Index(text, inner)
		return Selector{}, fmt.Errorf("must be label matchers such as release=\"sonic\", got %q: %w", text, moved(err, text, before-len(standIn)))
	}
	vector, ok := expr.(*parser.VectorSelector)
	bare := ok && vector.String() == (&parser.VectorSelector{LabelMatchers: vector.LabelMatchers}).String()
	if !bare || int(vector.PosRange.End) != len(query) {
		return Selector{}, fmt.Errorf("must be only label matchers, got %q", text)
	}
	return own(vector.LabelMatchers[1:])
}

// moved is the parser's error with its position in text, by bytes from that in
// the query that was parsed.
func moved(err error, text string, by int) error {
	var errs parser.ParseErrors
	if !errors.As(err, &errs) || len(errs) == 0 {
		return err
	}
	first := errs[0]
	first.Query = text
	first.PositionRange.Start = posrange.Pos(min(max(int(first.PositionRange.Start)+by, 0), len(text)))
	return &first
}

// own returns an error for matchers that the queries set.
func own(matchers []*labels.Matcher) (Selector, error) {
	var errs []error
	for _, m := range matchers {
		switch m.Name {
		case metricNameLabel:
			errs = append(errs, fmt.Errorf("must not name a metric, got %s", m))
		case clusterLabel:
			errs = append(errs, fmt.Errorf("must not select the Envoy cluster, which is always %s, got %s", tritonCluster, m))
		}
	}
	if len(errs) > 0 {
		return Selector{}, errors.Join(errs...)
	}
	return Selector{matchers}, nil
}

// Or is s, or other if s has no matchers.
func (s Selector) Or(other Selector) Selector {
	if len(s.matchers) == 0 {
		return other
	}
	return s
}

// With returns a copy of s that also requires the label's exact value.
func (s Selector) With(label, value string) Selector {
	return s.with(labels.MatchEqual, label, value)
}

func (s Selector) with(t labels.MatchType, label, value string) Selector {
	// Equality and inequality compile no regular expression, so they can't fail.
	m := labels.MustNewMatcher(t, label, value)
	return Selector{append(slices.Clip(slices.Clone(s.matchers)), m)}
}

// String returns the matchers as PromQL, sorted and without braces.
func (s Selector) String() string {
	text := (&parser.VectorSelector{LabelMatchers: s.matchers}).String()
	return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
}

// Equal reports whether both have the same matchers, in any order.
func (s Selector) Equal(other Selector) bool { return s.String() == other.String() }
