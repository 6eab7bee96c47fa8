package fleet

import (
	"math/bits"
	"time"
)

// Stats are the results of a group's clients.
type Stats struct {
	Sent     int64
	Answered int64
	Refused  int64 // found no replica
	Failed   int64 // timed out, or on a pod that was killed
	Done     int   // clients that have made all their requests
	LastDone time.Duration

	All    Latency // of all answers
	Steady Latency // of those from Config.Settle on
}

func (s *Stats) record(took, service time.Duration, steady bool) {
	s.Answered++
	s.All.record(took, service)
	if steady {
		s.Steady.record(took, service)
	}
}

// A Latency is a histogram of response times.
type Latency struct {
	N       int64
	Took    float64 // seconds, summed
	Service float64 // seconds of execution, summed
	buckets [buckets]uint32
}

// There are 32 buckets for each power of two, from 1 µs up, so that the error of a
// quantile is at most 1.6 %.
const (
	perOctave = 32
	buckets   = 36 * perOctave
)

func (l *Latency) record(took, service time.Duration) {
	l.N++
	l.Took += took.Seconds()
	l.Service += service.Seconds()
	l.buckets[bucket(took)]++
}

func bucket(d time.Duration) int {
	us := uint64(d / time.Microsecond)
	if us < perOctave {
		return int(us)
	}
	octave := bits.Len64(us) - 6 // us >> octave is from 32 to 63
	return min(perOctave*(octave+1)+int(us>>octave)-perOctave, buckets-1)
}

// middle is the middle of a bucket, in seconds.
func middle(b int) float64 {
	if b < perOctave {
		return (float64(b) + 0.5) / 1e6
	}
	octave := b/perOctave - 1
	return (float64(b%perOctave+perOctave) + 0.5) * float64(uint64(1)<<octave) / 1e6
}

// Add adds the answers of another histogram.
func (l *Latency) Add(o *Latency) {
	l.N += o.N
	l.Took += o.Took
	l.Service += o.Service
	for i, n := range o.buckets {
		l.buckets[i] += n
	}
}

// Mean is the mean response time in seconds, or 0 without answers.
func (l *Latency) Mean() float64 {
	if l.N == 0 {
		return 0
	}
	return l.Took / float64(l.N)
}

// Inflation is the mean response time over the mean service time, or 0 without
// answers.
func (l *Latency) Inflation() float64 {
	if l.Service == 0 {
		return 0
	}
	return l.Took / l.Service
}

// Quantile is a quantile of the response time in seconds.
func (l *Latency) Quantile(share float64) float64 {
	rank := min(int64(share*float64(l.N)), l.N-1)
	for b, n := range l.buckets {
		if rank -= int64(n); rank < 0 {
			return middle(b)
		}
	}
	return 0
}
