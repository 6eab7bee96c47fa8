package promql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A Selector says which series a query reads, by label matchers. The zero
// Selector reads all.
type Selector struct{ matchers []*labels.Matcher }

// ParseSelector reads label matchers in PromQL's own form, with or without
// braces: `release="sonic",namespace="cms"`. It refuses the name of a metric and
// a matcher on the Envoy cluster, which the queries set. An empty text gives the
// zero Selector.
func ParseSelector(text string) (Selector, error) {
	inner := strings.TrimSpace(text)
	if strings.HasPrefix(inner, "{") {
		if !strings.HasSuffix(inner, "}") {
			return Selector{}, fmt.Errorf("must end with a brace as it begins with one, got %q", text)
		}
		inner = strings.TrimSpace(inner[1 : len(inner)-1])
	}
	if inner == "" {
		return Selector{}, nil
	}
	// The name makes a selector valid that matches the empty string alone.
	expr, err := parse("x{" + inner + "}")
	if err != nil {
		return Selector{}, fmt.Errorf("must be label matchers such as release=\"sonic\", got %q: %w", text, err)
	}
	vector, ok := expr.(*parser.VectorSelector)
	if !ok || vector.String() != (&parser.VectorSelector{Name: "x", LabelMatchers: vector.LabelMatchers}).String() {
		return Selector{}, fmt.Errorf("must be label matchers alone, got %q", text)
	}
	return own(vector.LabelMatchers)
}

// own leaves out the matcher of the stand-in name and refuses what the queries set.
func own(matchers []*labels.Matcher) (Selector, error) {
	var s Selector
	var errs []error
	for _, m := range matchers {
		switch {
		case m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value == "x":
		case m.Name == labels.MetricName:
			errs = append(errs, fmt.Errorf("must not name a metric, got %s", m))
		case m.Name == clusterLabel:
			errs = append(errs, fmt.Errorf("must not select the Envoy cluster, which is always %s, got %s", tritonCluster, m))
		default:
			s.matchers = append(s.matchers, m)
		}
	}
	if len(errs) > 0 {
		return Selector{}, errors.Join(errs...)
	}
	return s, nil
}

// With is a Selector that asks in addition for the label's exact value. It is a
// copy; s stays as it is.
func (s Selector) With(label, value string) Selector {
	return s.with(labels.MatchEqual, label, value)
}

func (s Selector) with(t labels.MatchType, label, value string) Selector {
	// Equality and inequality compile no regular expression, so they can't fail.
	m := labels.MustNewMatcher(t, label, value)
	return Selector{append(slices.Clip(slices.Clone(s.matchers)), m)}
}

// String gives the matchers as PromQL, without braces, sorted.
func (s Selector) String() string {
	text := (&parser.VectorSelector{LabelMatchers: s.matchers}).String()
	return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
}

// Equal says whether both have the same matchers, in any order.
func (s Selector) Equal(other Selector) bool { return s.String() == other.String() }
