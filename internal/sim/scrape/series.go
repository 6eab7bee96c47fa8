package scrape

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// point is a sample; it implements [chunks.Sample].
type point struct {
	t int64
	v float64
}

func (p *point) T() int64                    { return p.t }
func (p *point) ST() int64                   { return 0 }
func (p *point) F() float64                  { return p.v }
func (*point) H() *histogram.Histogram       { return nil }
func (*point) FH() *histogram.FloatHistogram { return nil }
func (*point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p *point) Copy() chunks.Sample         { q := *p; return &q }

// found is the part of a series that a query reads.
type found struct {
	labels labels.Labels
	points points
}

func (f found) Labels() labels.Labels { return f.labels }

func (f found) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return storage.NewListSeriesIterator(f.points)
}

// set implements [storage.SeriesSet].
type set struct {
	all []found
	at  int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.all) }
func (s *set) At() storage.Series              { return s.all[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
