package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
)

// points is the number of points of a course.
const points = 600

// A Point is the state of a run at one time, or the mean since the previous point.
type Point struct {
	At        time.Duration
	Wanted    int     // replicas that the Deployment asks for
	Ready     int     // replicas that are ready
	Pods      int     // pods that hold a GPU, including those that start or drain
	InFlight  float64 // requests, mean
	Executing float64 // requests, mean
	Reading   float64 // latest value of the metric
	Took      float64 // mean response time, seconds
}

// A Change is a new number of replicas.
type Change struct {
	At time.Duration
	To int
}

// MarshalJSON writes the time in seconds, and the number of replicas.
func (c Change) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%g,%d]", c.At.Seconds(), c.To), nil
}

// recorder records the course of a run.
type recorder struct {
	every, next time.Duration
	start       time.Duration   // of the load
	started     fleet.Integrals // until then
	settle      time.Duration
	reading     float64
	readings    [3]float64 // number, sum and sum of squares, once settled
	course      []Point
	changes     []Change

	last     fleet.Integrals
	answers  fleet.Latency
	settled  fleet.Integrals // at the time when the fleet should have settled
	settling time.Duration   // that time, 0 before it
}

func newRecorder(start, duration, settle time.Duration) recorder {
	every := max(duration/points, time.Second)
	return recorder{every: every, start: start, next: start + every, settle: start + settle}
}

// begin starts to count.
func (c *recorder) begin(w *fleet.World) {
	c.started = w.Integrals()
	c.last = c.started
}

func (c *recorder) record(w *fleet.World) {
	now, sums, f := w.Now(), w.Integrals(), w.Fleet()
	var all fleet.Latency
	for _, s := range w.Stats() {
		all.N += s.All.N
		all.Took += s.All.Took
	}
	p := Point{
		At: now - c.start, Wanted: f.Wanted, Ready: f.Ready, Pods: f.Starting + f.Ready + f.Draining,
		InFlight:  (sums.InFlight - c.last.InFlight) / c.every.Seconds(),
		Executing: (sums.Executing - c.last.Executing) / c.every.Seconds(),
		Reading:   c.reading,
	}
	if n := all.N - c.answers.N; n > 0 {
		p.Took = (all.Took - c.answers.Took) / float64(n)
	}
	c.course = append(c.course, p)
	c.last, c.answers.N, c.answers.Took = sums, all.N, all.Took
	if c.settling == 0 && now >= c.settle {
		c.settling, c.settled = now, sums
	}
	c.next += c.every
}

// read records a value that the HPA read.
func (c *recorder) read(now time.Duration, v float64) {
	c.reading = v
	if now >= c.settle {
		c.readings[0]++
		c.readings[1] += v
		c.readings[2] += v * v
	}
}

// noise is the deviation of the readings over their mean.
func (c *recorder) noise() float64 {
	n, sum, squares := c.readings[0], c.readings[1], c.readings[2]
	if sum == 0 {
		return 0
	}
	return math.Sqrt(max(0, squares/n-sum*sum/n/n)) / (sum / n)
}

func (c *recorder) changed(at time.Duration, to int) {
	c.changes = append(c.changes, Change{at - c.start, to})
}

// inFlight is the mean number of requests in flight of the last interval.
func (c *recorder) inFlight() float64 { return c.course[len(c.course)-1].InFlight }
