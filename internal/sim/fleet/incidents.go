package fleet

import "time"

// What happens at an [Incident].
const (
	EnvoyRestarts = "envoy-restarts" // the counters of every Envoy restart at 0
	TritonStalls  = "triton-stalls"  // no replica starts a batch until the incident ends
)

// An Incident is something that goes wrong.
type Incident struct {
	At   time.Duration
	What string
	For  time.Duration
}

func (w *World) incident(i Incident) {
	switch i.What {
	case EnvoyRestarts:
		for e := range w.envoys {
			w.envoys[e].restart(w.now)
		}
	case TritonStalls:
		w.stalled = w.now + i.For
		w.events.push(event{at: w.stalled, kind: resume})
	}
}

func (w *World) resume() {
	for r := range w.replicas {
		if w.replicas[r].state == gone {
			continue
		}
		for m := range w.replicas[r].lanes {
			w.dispatch(int32(r), int32(m))
		}
	}
}
