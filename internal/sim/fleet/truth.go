package fleet

import "time"

// area is the integral over time of a number that changes in steps.
type area struct {
	value int64
	since time.Duration
	sum   float64 // value × seconds, until since
}

func (a *area) add(now time.Duration, by int64) {
	a.sum += float64(a.value) * (now - a.since).Seconds()
	a.value += by
	a.since = now
}

func (a *area) until(now time.Duration) float64 {
	return a.sum + float64(a.value)*(now-a.since).Seconds()
}

// truth counts what really happens, independently of the exported metrics.
type truth struct {
	inFlight, executing, holding, wanted area
}

func (t *truth) serving(now time.Duration, by int) { t.executing.add(now, int64(by)) }

// Integrals are integrals over time since the start, in seconds. The mean over an
// interval is the difference of two, divided by its length.
type Integrals struct {
	InFlight  float64 // requests between Envoy and Triton
	Executing float64 // requests that are executing
	Replicas  float64 // pods that hold a GPU: starting, ready or draining
	Wanted    float64 // replicas that the Deployment asks for
}

// Integrals returns what really happened until now.
func (w *World) Integrals() Integrals {
	t := &w.truth
	return Integrals{t.inFlight.until(w.now), t.executing.until(w.now), t.holding.until(w.now), t.wanted.until(w.now)}
}
