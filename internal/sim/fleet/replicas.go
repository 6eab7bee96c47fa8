package fleet

import "time"

// Pods configures the life cycle of pods.
type Pods struct {
	Startup     time.Duration // from scheduling to readiness
	Schedulable int           // pods that the cluster has room for; 0 means any number
	Discovery   time.Duration // until the Envoys learn that a replica is ready or terminating
	Sleep       time.Duration // minimum time that a deleted pod continues to serve
	Grace       time.Duration // maximum, after which it is killed
}

type podState uint8

const (
	unschedulable podState = iota
	starting
	serving
	draining
	gone
)

// replica is a Triton pod. Its index in World.replicas is never reused.
type replica struct {
	lanes   []lane // one for each model
	created time.Duration
	ended   time.Duration // when the pod was gone
	busy    int32         // instances of all models
	state   podState
	slept   bool // the pod is draining, and exits when it is idle
}

// Fleet counts pods by state.
type Fleet struct {
	Wanted        int // what the Deployment asks for
	Unschedulable int // pods that wait for a node
	Starting      int // pods that are not ready yet
	Ready         int // pods that are ready
	Draining      int // pods that are terminating
}

// Pods is the number that the status of the Deployment reports.
func (f Fleet) Pods() int { return f.Unschedulable + f.Starting + f.Ready }

// Fleet counts pods by state.
func (w *World) Fleet() Fleet {
	f := w.count
	f.Wanted = int(w.truth.wanted.value)
	return f
}

// Scale sets the number of replicas that the Deployment asks for.
func (w *World) Scale(to int) {
	w.truth.wanted.add(w.now, int64(to)-w.truth.wanted.value)
	for w.count.Pods() < to {
		w.create()
	}
	for w.count.Pods() > to {
		w.delete(w.victim())
	}
}

func (w *World) create() {
	lanes := make([]lane, len(w.config.Models))
	for i := range lanes {
		lanes[i].head = none
	}
	w.replicas = append(w.replicas, replica{lanes: lanes, created: w.now})
	for i := range w.envoys {
		w.envoys[i].grow()
	}
	w.count.Unschedulable++
	w.schedule()
}

// schedule assigns nodes to waiting pods, oldest first.
func (w *World) schedule() {
	room := w.config.Pods.Schedulable
	for id := 0; id < len(w.replicas) && w.count.Unschedulable > 0; id++ {
		if w.replicas[id].state != unschedulable {
			continue
		}
		if room > 0 && w.truth.holding.value >= int64(room) {
			return
		}
		w.count.Unschedulable--
		w.count.Starting++
		w.truth.holding.add(w.now, 1)
		w.replicas[id].state = starting
		w.events.push(event{at: w.now + w.config.Pods.Startup, kind: ready, a: int32(id)})
	}
}

// victim is the pod that a ReplicaSet deletes first: one without a node, then
// one that is not ready, then the youngest.
func (w *World) victim() int32 {
	for state := unschedulable; ; state++ {
		for id := len(w.replicas) - 1; id >= 0; id-- {
			if w.replicas[id].state == state {
				return int32(id)
			}
		}
	}
}

func (w *World) delete(id int32) {
	r := &w.replicas[id]
	switch r.state {
	case unschedulable:
		w.count.Unschedulable--
		r.state, r.ended = gone, w.now
	case starting:
		w.count.Starting--
		w.end(id)
	default:
		w.count.Ready--
		w.count.Draining++
		r.state = draining
		w.events.push(event{at: w.now + w.config.Pods.Discovery, kind: unroute, a: id})
		w.events.push(event{at: w.now + w.config.Pods.Sleep, kind: exit, a: id})
		w.events.push(event{at: w.now + max(w.config.Pods.Sleep, w.config.Pods.Grace), kind: kill, a: id})
	}
}

// end removes the pod and frees its GPU.
func (w *World) end(id int32) {
	r := &w.replicas[id]
	r.state, r.ended = gone, w.now
	w.truth.holding.add(w.now, -1)
	w.schedule()
}

func (w *World) podReady(id int32) {
	if r := &w.replicas[id]; r.state == starting {
		r.state = serving
		w.count.Starting--
		w.count.Ready++
		w.events.push(event{at: w.now + w.config.Pods.Discovery, kind: route, a: id})
	}
}

func (w *World) route(id int32) {
	if w.replicas[id].state != serving {
		return
	}
	for i := range w.envoys {
		w.envoys[i].add(id)
	}
}

func (w *World) unroute(id int32) {
	for i := range w.envoys {
		w.envoys[i].remove(id)
	}
}

// exit handles the end of a draining pod's sleep.
func (w *World) exit(id int32) {
	w.replicas[id].slept = true
	w.exitIdle(id)
}

// exitIdle ends a draining pod that is idle.
func (w *World) exitIdle(id int32) {
	r := &w.replicas[id]
	if r.state != draining || !r.slept || w.active(id) > 0 {
		return
	}
	w.count.Draining--
	w.end(id)
}

func (w *World) active(id int32) (n int32) {
	for i := range w.envoys {
		n += w.envoys[i].balancer.active[id]
	}
	return n
}

// kill ends a pod that has not exited in time, and the requests on it.
func (w *World) kill(id int32) {
	r := &w.replicas[id]
	if r.state != draining {
		return
	}
	w.unroute(id)
	w.count.Draining--
	w.end(id)
	for i := range w.requests {
		q := &w.requests[i]
		if q.replica != id || q.state == free {
			continue
		}
		waiting := q.state == queueing
		w.fail(int32(i))
		if waiting {
			w.release(int32(i))
		} // An executing request is released when its batch finishes.
	}
}

// Gone reports whether a replica's pod no longer exists.
func (w *World) Gone(id int) bool { return w.replicas[id].state == gone }
