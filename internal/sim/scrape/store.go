// Package scrape keeps scraped samples in memory and evaluates PromQL on them with
// Prometheus' own engine.
package scrape

import (
	"context"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A Store holds the samples that queries may still read. It is not safe for
// concurrent use.
type Store struct {
	byName map[string][]*Series
	keep   int64 // milliseconds
}

// NewStore returns an empty store that keeps samples for at least that long.
func NewStore(keep time.Duration) *Store {
	return &Store{map[string][]*Series{}, keep.Milliseconds()}
}

// A Series is the samples of one set of labels.
type Series struct {
	labels labels.Labels
	points points
	keep   int64
}

// Series adds a series. Its labels must be new to the store.
func (s *Store) Series(name string, of labels.Labels) *Series {
	l := labels.NewBuilder(of).Set(model.MetricNameLabel, name).Labels()
	series := &Series{labels: l, keep: s.keep}
	s.byName[name] = append(s.byName[name], series)
	return series
}

// Drop removes series without a sample in the time that the store keeps.
func (s *Store) Drop(now time.Duration) {
	oldest := now.Milliseconds() - s.keep
	for name, all := range s.byName {
		s.byName[name] = slices.DeleteFunc(all, func(s *Series) bool {
			return len(s.points) > 0 && s.points[len(s.points)-1].t < oldest
		})
	}
}

// Forget drops all samples, as a Prometheus without a volume does when it
// restarts. The series continue.
func (s *Store) Forget() {
	for _, all := range s.byName {
		for _, series := range all {
			series.points = nil
		}
	}
}

// Add appends a sample.
func (s *Series) Add(at time.Duration, v float64) {
	t := at.Milliseconds()
	// Old samples are removed when they are half of all samples, so that each sample moves at most once.
	if len(s.points) == cap(s.points) && len(s.points) > 0 && s.points[len(s.points)/2].t < t-s.keep {
		s.points = s.points[:copy(s.points, s.points[len(s.points)/2:])]
	}
	s.points = append(s.points, point{t, v})
}

// End marks the series as stale: its target is gone.
func (s *Series) End(at time.Duration) { s.Add(at, math.Float64frombits(value.StaleNaN)) }

// Querier implements [storage.Queryable].
func (s *Store) Querier(least, most int64) (storage.Querier, error) {
	return &querier{s, least, most}, nil
}

type querier struct {
	store       *Store
	least, most int64
}

func (q *querier) Select(_ context.Context, sorted bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &set{at: -1}
	for _, s := range q.candidates(matchers) {
		if points := s.points.between(q.least, q.most); len(points) > 0 && matches(s.labels, matchers) {
			set.all = append(set.all, found{s.labels, points})
		}
	}
	if sorted {
		slices.SortFunc(set.all, func(a, b found) int { return labels.Compare(a.labels, b.labels) })
	}
	return set
}

// candidates are the series of the metric that the matchers name, or all series.
func (q *querier) candidates(matchers []*labels.Matcher) []*Series {
	var all []*Series
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return q.store.byName[m.Value]
		}
	}
	for _, series := range q.store.byName {
		all = append(all, series...)
	}
	return all
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) Close() error { return nil }

// points are samples in chronological order.
type points []point

func (p points) Get(i int) chunks.Sample { return &p[i] }
func (p points) Len() int                { return len(p) }

func (p points) between(least, most int64) points {
	from := sort.Search(len(p), func(i int) bool { return p[i].t >= least })
	to := from + sort.Search(len(p)-from, func(i int) bool { return p[from+i].t > most })
	return p[from:to]
}
