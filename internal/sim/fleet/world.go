package fleet

import "time"

// Config is everything that a World depends on except its random numbers.
type Config struct {
	Models    []Model
	Clients   []Clients
	Envoys    int
	Flush     time.Duration // between two flushes of an Envoy's histograms
	Pods      Pods
	Replicas  int           // ready at the start
	Settle    time.Duration // answers count as steady from then on
	Incidents []Incident
}

// A World is the state of a simulation at one point in time.
type World struct {
	config   *Config
	seed     uint64
	now      time.Duration
	events   heap
	requests []request
	free     int32
	clients  []client
	groups   []group
	envoys   []envoy
	replicas []replica
	count    Fleet
	truth    truth
	stalled  time.Duration // no batch starts before this time
}

// New returns a World at time 0. It does not change the configuration.
func New(c *Config, seed uint64) *World {
	w := &World{config: c, seed: seed, free: none, envoys: make([]envoy, max(1, c.Envoys))}
	w.Scale(c.Replicas)
	for id := range w.replicas {
		w.podReady(int32(id))
		w.route(int32(id))
	}
	for i := range c.Clients {
		w.addGroup(&c.Clients[i])
	}
	for i, it := range c.Incidents {
		w.events.push(event{at: it.At, kind: incident, a: int32(i)})
	}
	w.events.push(event{at: c.Flush, kind: flush})
	return w
}

// Now is the time since the start.
func (w *World) Now() time.Duration { return w.now }

// Run processes events until a time, inclusive.
func (w *World) Run(until time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= until {
		e := w.events.pop()
		w.now = e.at
		w.happen(e)
	}
	w.now = until
}

func (w *World) happen(e event) {
	switch e.kind {
	case call:
		w.call(e.a)
	case finish:
		w.finish(e.a, e.b)
	case arrive:
		w.arrive(e.a)
	case giveUp:
		w.giveUp(e.a, e.b)
	case fillBatch:
		w.fillBatch(e.a, e.b)
	case join:
		w.join(e.a)
	case leave:
		w.leave(e.a, e.b > 0)
	case flush:
		w.flush()
	case incident:
		w.incident(w.config.Incidents[e.a])
	case resume:
		w.resume()
	default:
		w.pod(e)
	}
}

func (w *World) pod(e event) {
	switch e.kind {
	case ready:
		w.podReady(e.a)
	case route:
		w.route(e.a)
	case unroute:
		w.unroute(e.a)
	case exit:
		w.exit(e.a)
	case kill:
		w.kill(e.a)
	}
}

func (w *World) fillBatch(replica, model int32) {
	if r := &w.replicas[replica]; r.state != gone {
		r.lanes[model].timer = 0
		w.dispatch(replica, model)
	}
}

func (w *World) flush() {
	for i := range w.envoys {
		w.envoys[i].flush()
	}
	w.events.push(event{at: w.now + w.config.Flush, kind: flush})
}

// Stats returns the results of each group of clients.
func (w *World) Stats() []*Stats {
	var all []*Stats
	for i := range w.groups {
		all = append(all, &w.groups[i].stats)
	}
	return all
}

// Envoys returns the current metrics of each Envoy.
func (w *World) Envoys() []EnvoyCounters {
	var all []EnvoyCounters
	for i := range w.envoys {
		c := w.envoys[i].counters
		c.Healthy = w.envoys[i].members
		all = append(all, c)
	}
	return all
}

// Exporting reports whether a replica's Triton runs, so that it can be scraped.
func (w *World) Exporting(id int) bool {
	s := w.replicas[id].state
	return s == serving || s == draining
}

// Created is the number of replicas that were ever created.
func (w *World) Created() int { return len(w.replicas) }

// Model returns the metrics of a model on a replica.
func (w *World) Model(id, model int) ModelCounters { return w.replicas[id].lanes[model].counters }
