package fleet

import "time"

// none marks the absence of a request.
const none = int32(-1)

type phase uint8

const (
	queueing phase = iota
	executing
	free
)

// request is a call in progress. Requests are kept in one slice and reused.
type request struct {
	sent    time.Duration // when the Envoy sent it on
	queued  time.Duration // when it entered the queue of its current model
	started time.Duration // when its current batch started
	service time.Duration // execution time so far
	number  uint64        // seed of its random times

	next    int32 // next in its queue, its batch, or the free list
	client  int32
	replica int32
	model   int32 // as it was called
	step    int32 // of an ensemble
	uses    int32 // how often this slot was reused, so that a late giveUp recognizes another request
	envoy   int16
	state   phase
	given   bool // up: its client timed out
}

// take returns a free request.
func (w *World) take() int32 {
	id := w.free
	if id == none {
		w.requests = append(w.requests, request{})
		return int32(len(w.requests) - 1)
	}
	w.free = w.requests[id].next
	return id
}

func (w *World) release(id int32) {
	q := &w.requests[id]
	q.state, q.next, q.uses = free, w.free, q.uses+1
	w.free = id
}

// send sends a client's call through an Envoy now.
func (w *World) send(id, model int32, through int16) {
	c := &w.clients[id]
	g := &w.groups[c.group]
	e := &w.envoys[through]
	c.busy = !g.config.open()
	g.stats.Sent++
	number := c.Uint64()
	replica := e.pick(&c.random)
	if replica < 0 {
		e.counters.NoneHealthy++
		g.stats.Refused++
		w.goOn(id, true)
		return
	}
	e.counters.Requests++
	e.counters.Active++
	e.change(replica, 1)
	w.truth.inFlight.add(w.now, 1)
	r := w.take()
	q := &w.requests[r]
	*q = request{sent: w.now, number: number, client: id, replica: replica, model: model, envoy: through, uses: q.uses}
	if g.config.Timeout > 0 {
		w.events.push(event{at: w.now + g.config.Timeout, kind: giveUp, a: r, b: q.uses})
	}
	w.enqueue(r)
}

// ended is the end of a request as Envoy sees it.
func (w *World) ended(q *request) {
	e := &w.envoys[q.envoy]
	e.counters.Active--
	e.change(q.replica, -1)
	w.truth.inFlight.add(w.now, -1)
}

// answer completes a request after its last model has executed it.
func (w *World) answer(id int32) {
	q := w.requests[id]
	w.release(id)
	if q.given {
		w.exitIdle(q.replica)
		return
	}
	w.ended(&q)
	took := w.now - q.sent
	w.envoys[q.envoy].record(took)
	w.groups[w.clients[q.client].group].stats.record(took, q.service, w.now >= w.config.Settle)
	w.exitIdle(q.replica)
	w.goOn(q.client, false)
}

// fail ends a request without an answer. Envoy does not count its time.
func (w *World) fail(id int32) {
	q := &w.requests[id]
	if q.given {
		return
	}
	q.given = true
	w.ended(q)
	w.groups[w.clients[q.client].group].stats.Failed++
	w.goOn(q.client, true)
}

// giveUp times out a client. Triton still executes the request.
func (w *World) giveUp(id, uses int32) {
	if q := &w.requests[id]; q.state != free && q.uses == uses {
		w.fail(id)
	}
}
