package fleet

import "time"

// A Model is what every replica serves.
type Model struct {
	Service   Times         // time to execute a batch of one request
	Instances int           // batches that a replica executes at once
	MaxBatch  int           // maximum requests in a batch; 0 and 1 mean no batching
	MaxDelay  time.Duration // how long a request may wait for its batch to fill
	Further   time.Duration // added to the time of a batch by each request after the first
	Slowdown  float64       // relative increase of the time for each other busy instance of the replica
	Steps     []int         // of an ensemble: the models that it calls, in order; it executes nothing itself
	Decoupled bool          // durations end when the backend accepts the request
}

// ModelCounters are the metrics of one model on one replica.
type ModelCounters struct {
	Successes  int64         // nv_inference_request_success
	Executions int64         // nv_inference_exec_count: batches
	Request    time.Duration // nv_inference_request_duration_us
	Queue      time.Duration // nv_inference_queue_duration_us
	Pending    int           // nv_inference_pending_request_count
}

// lane is the queue and the instances of a model on a replica.
type lane struct {
	counters   ModelCounters
	head, tail int32 // the queue, none if empty
	busy       int32
	timer      time.Duration // of the next fillBatch, or 0
}

// enqueue puts a request into the queue of its next model.
func (w *World) enqueue(id int32) {
	q := &w.requests[id]
	model := w.leaf(q)
	l := &w.replicas[q.replica].lanes[model]
	q.queued, q.next = w.now, none
	if l.head == none {
		l.head = id
	} else {
		w.requests[l.tail].next = id
	}
	l.tail = id
	l.counters.Pending++
	w.dispatch(q.replica, model)
}

// leaf is the next model that executes a request.
func (w *World) leaf(q *request) int32 {
	if steps := w.config.Models[q.model].Steps; len(steps) > 0 {
		return int32(steps[q.step])
	}
	return q.model
}

// dispatch starts batches while there are requests and free instances.
func (w *World) dispatch(replica, model int32) {
	l := &w.replicas[replica].lanes[model]
	m := &w.config.Models[model]
	if w.now < w.stalled {
		return
	}
	for l.head != none && int(l.busy) < m.Instances {
		if l.counters.Pending < m.MaxBatch && m.MaxDelay > 0 {
			due := w.requests[l.head].queued + m.MaxDelay
			if due > w.now {
				w.awaitBatch(l, due, replica, model)
				return
			}
		}
		w.execute(replica, model)
	}
}

func (w *World) awaitBatch(l *lane, due time.Duration, replica, model int32) {
	if l.timer == due {
		return
	}
	l.timer = due
	w.events.push(event{at: due, kind: fillBatch, a: replica, b: model})
}

// execute starts the next batch of the queue.
func (w *World) execute(replica, model int32) {
	r := &w.replicas[replica]
	l := &r.lanes[model]
	m := &w.config.Models[model]
	first := l.head
	n := 1
	last := first
	w.start(first)
	for n < m.MaxBatch && w.requests[last].next != none {
		last = w.requests[last].next
		w.start(last)
		n++
	}
	l.head = w.requests[last].next
	w.requests[last].next = none
	l.counters.Pending -= n
	l.busy++
	w.truth.serving(w.now, n)
	took := m.Service.at(w.requests[first].number+2*uint64(w.requests[first].step)) + time.Duration(n-1)*m.Further
	if m.Slowdown > 0 {
		took += time.Duration(float64(took) * m.Slowdown * float64(r.busy))
	}
	r.busy++
	w.events.push(event{at: w.now + took, kind: finish, a: replica, b: first})
}

func (w *World) start(id int32) {
	q := &w.requests[id]
	q.started, q.state = w.now, executing
}

// finish ends a batch.
func (w *World) finish(replica, first int32) {
	r := &w.replicas[replica]
	model := w.leaf(&w.requests[first])
	l := &r.lanes[model]
	l.busy--
	r.busy--
	l.counters.Executions++
	n := 0
	for id := first; id != none; n++ {
		next := w.requests[id].next
		w.step(r, l, id, model)
		id = next
	}
	w.truth.serving(w.now, -n)
	if r.state != gone {
		w.dispatch(replica, model)
	}
}

// step ends a request's execution by one model and continues with the next model.
func (w *World) step(r *replica, l *lane, id, model int32) {
	q := &w.requests[id]
	if r.state == gone {
		w.release(id)
		return
	}
	c := &l.counters
	c.Successes++
	c.Queue += q.started - q.queued
	if w.config.Models[model].Decoupled {
		c.Request += q.started - q.queued
	} else {
		c.Request += w.now - q.queued
	}
	q.service += w.now - q.started
	steps := w.config.Models[q.model].Steps
	if int(q.step)+1 < len(steps) {
		q.step++
		q.state = queueing
		w.enqueue(id)
		return
	}
	if len(steps) > 0 {
		parent := &r.lanes[q.model].counters
		parent.Successes++
		parent.Executions++
		parent.Request += w.now - q.sent
	}
	w.answer(id)
}
