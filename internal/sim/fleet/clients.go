package fleet

import "time"

// Clients is a group of identical clients. With a Rate or Arrivals the group is an
// open loop: requests arrive independently of answers. Otherwise each of Count
// clients calls, waits for the answer, and thinks.
type Clients struct {
	Count int
	Think Times // between an answer and the next call
	Each  int   // requests of each client, after which it leaves; 0 means unlimited

	Join     time.Duration // when they join
	JoinOver time.Duration // the time over which they join, one after the other
	Leave    time.Duration // when they leave; 0 means never
	Stay     Times         // how long a client stays connected at a time; mean 0 means forever
	Away     Times         // how long it is away before it returns

	Rate     float64       // arrivals a second, at random
	Burst    int           // requests that arrive at once; 0 means 1
	Every    time.Duration // regular arrivals, in place of a rate
	Arrivals []Arrival     // recorded arrivals, in place of a rate

	Mix         []Share       // models that they call
	Connections int           // of an open group, and of a closed one that shares them; 0 means one for each client
	Idle        int           // further connections, without calls
	Timeout     time.Duration // of a call; 0 means none
	Retry       time.Duration // between a failed call and the next
}

// A Share is how often a model is called.
type Share struct {
	Model  int
	Weight float64
}

// An Arrival is a recorded request.
type Arrival struct {
	At    time.Duration
	Model int
}

// open reports whether the group is an open loop.
func (c *Clients) open() bool { return c.Rate > 0 || c.Every > 0 || len(c.Arrivals) > 0 }

type client struct {
	random
	group  int32
	left   int32 // remaining requests, negative if unlimited
	envoy  int16
	here   bool // has joined and not left
	busy   bool // waits for an answer
	gone   bool // never returns
	leaver bool // leaves after the answer
}

// group is the state of one of the configuration's Clients.
type group struct {
	config *Clients
	stats  Stats
	total  float64 // of the weights
	next   int     // next recorded arrival
	turn   int16   // Envoy of the next call of an open group

	planned bool  // the event of an open group's next arrival exists
	first   int32 // its first client; an open group has one, which never waits
}

// addGroup creates the clients of a group and the events at which they join.
func (w *World) addGroup(c *Clients) {
	g := group{config: c, first: int32(len(w.clients))}
	for _, s := range c.Mix {
		g.total += s.Weight
	}
	index := int32(len(w.groups))
	w.groups = append(w.groups, g)
	n := c.Count
	if c.open() {
		n = 1
	}
	for i := range n {
		id := int32(len(w.clients))
		left := int32(-1)
		if c.Each > 0 {
			left = int32(c.Each)
		}
		w.clients = append(w.clients, client{
			random: newRandom(w.seed, int(index)<<32+i), group: index, left: left, envoy: int16(i % len(w.envoys)),
		})
		w.events.push(event{at: c.Join + c.JoinOver*time.Duration(i)/time.Duration(n), kind: join, a: id})
		if c.Leave > 0 {
			w.events.push(event{at: c.Leave, kind: leave, a: id, b: 1})
		}
	}
	w.connect(0, int64(c.Idle))
	if !c.open() && c.Connections > 0 {
		w.connect(0, int64(c.Connections))
	}
}

func (w *World) connect(envoy int16, by int64) { w.envoys[envoy].counters.Connections += by }

// connections is the number of connections that one client opens and closes.
func (g *group) connections() int64 {
	switch {
	case g.config.open():
		return int64(max(1, g.config.Connections))
	case g.config.Connections > 0:
		return 0
	}
	return 1
}

func (w *World) join(id int32) {
	c := &w.clients[id]
	if c.gone || c.here {
		return
	}
	g := &w.groups[c.group]
	c.here, c.leaver = true, false
	w.connect(c.envoy, g.connections())
	if g.config.Stay.Mean > 0 {
		w.events.push(event{at: w.now + c.draw(g.config.Stay), kind: leave, a: id})
	}
	if !g.config.open() {
		w.events.push(event{at: w.now + c.draw(g.config.Think), kind: call, a: id})
	} else if !g.planned {
		w.plan(c, g)
	}
}

// leave disconnects a client, forever or for a while.
func (w *World) leave(id int32, forGood bool) {
	c := &w.clients[id]
	c.gone = c.gone || forGood
	if !c.here {
		return
	}
	if c.busy {
		c.leaver = true
		return
	}
	w.left(id)
}

func (w *World) left(id int32) {
	c := &w.clients[id]
	g := &w.groups[c.group]
	c.here, c.leaver = false, false
	w.connect(c.envoy, -g.connections())
	if !c.gone && g.config.Away.Mean > 0 {
		w.events.push(event{at: w.now + c.draw(g.config.Away), kind: join, a: id})
	}
}

// plan schedules the next arrival of an open group.
func (w *World) plan(c *client, g *group) {
	at := w.now
	switch {
	case len(g.config.Arrivals) > 0:
		if g.next == len(g.config.Arrivals) {
			return
		}
		at = max(at, g.config.Join+g.config.Arrivals[g.next].At)
	case g.config.Every > 0:
		at += g.config.Every
	default:
		mean := float64(max(1, g.config.Burst)) * float64(time.Second) / g.config.Rate
		at += c.draw(Times{Mean: time.Duration(mean), Distribution: Exponential})
	}
	g.planned = true
	w.events.push(event{at: at, kind: arrive, a: c.group})
}

// arrive sends the requests of an open group that arrive now.
func (w *World) arrive(index int32) {
	g := &w.groups[index]
	c := &w.clients[g.first]
	g.planned = false
	if !c.here {
		return
	}
	for range max(1, g.config.Burst) {
		var model int32
		if g.next < len(g.config.Arrivals) {
			model = int32(g.config.Arrivals[g.next].Model)
			g.next++
		} else {
			model = g.choose(&c.random)
		}
		w.send(g.first, model, g.turn)
		g.turn = (g.turn + 1) % int16(len(w.envoys))
	}
	w.plan(c, g)
}

// choose picks a model by the weights.
func (g *group) choose(r *random) int32 {
	if len(g.config.Mix) == 1 {
		return int32(g.config.Mix[0].Model)
	}
	at := r.unit() * g.total
	for _, s := range g.config.Mix {
		if at -= s.Weight; at < 0 {
			return int32(s.Model)
		}
	}
	return int32(g.config.Mix[len(g.config.Mix)-1].Model)
}

// call makes a client's next call.
func (w *World) call(id int32) {
	c := &w.clients[id]
	if c.here && !c.busy {
		w.send(id, w.groups[c.group].choose(&c.random), c.envoy)
	}
}

// goOn continues a client after a call: it thinks, waits to retry, or leaves.
func (w *World) goOn(id int32, failed bool) {
	c := &w.clients[id]
	g := &w.groups[c.group]
	if g.config.open() {
		return
	}
	c.busy = false
	pause := g.config.Retry
	if !failed {
		pause = c.draw(g.config.Think)
		if c.left > 0 {
			c.left--
		}
	}
	if c.left == 0 {
		c.gone = true
		g.stats.Done++
		g.stats.LastDone = w.now
	}
	if c.gone || c.leaver {
		w.left(id)
		return
	}
	if pause == 0 {
		w.call(id) // without a detour through the heap
		return
	}
	w.events.push(event{at: w.now + pause, kind: call, a: id})
}
