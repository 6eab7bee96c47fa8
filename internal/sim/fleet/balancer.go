package fleet

// balancer picks the replica with the fewest active requests, with ties broken at
// random: Envoy's LEAST_REQUEST with selection_method FULL_SCAN. Replicas are
// indexed by active requests, so that a pick takes constant time.
type balancer struct {
	byActive [][]int32 // replicas with that many active requests
	place    []int32   // index of each replica in its list, -1 if it gets no requests
	active   []int32   // active requests of each replica, also of those that get no more
	least    int       // lower bound of the active requests of routed replicas
	members  int
}

// grow adds a replica that gets no requests yet.
func (b *balancer) grow() {
	b.place = append(b.place, -1)
	b.active = append(b.active, 0)
}

func (b *balancer) add(replica int32) {
	if b.place[replica] >= 0 {
		return
	}
	b.insert(replica)
	b.members++
}

func (b *balancer) remove(replica int32) {
	if b.place[replica] < 0 {
		return
	}
	b.take(replica)
	b.place[replica] = -1
	b.members--
}

func (b *balancer) insert(replica int32) {
	n := int(b.active[replica])
	for len(b.byActive) <= n {
		b.byActive = append(b.byActive, nil)
	}
	b.place[replica] = int32(len(b.byActive[n]))
	b.byActive[n] = append(b.byActive[n], replica)
	b.least = min(b.least, n)
}

func (b *balancer) take(replica int32) {
	list := b.byActive[b.active[replica]]
	last := list[len(list)-1]
	list[b.place[replica]] = last
	b.place[last] = b.place[replica]
	b.byActive[b.active[replica]] = list[:len(list)-1]
}

// pick returns -1 if no replica gets requests.
func (b *balancer) pick(r *random) int32 {
	if b.members == 0 {
		return -1
	}
	for len(b.byActive[b.least]) == 0 {
		b.least++
	}
	list := b.byActive[b.least]
	if len(list) == 1 {
		return list[0]
	}
	return list[int(r.unit()*float64(len(list)))]
}

// change adds by to the active requests of a replica.
func (b *balancer) change(replica, by int32) {
	routed := b.place[replica] >= 0
	if routed {
		b.take(replica)
	}
	b.active[replica] += by
	if routed {
		b.insert(replica)
	}
}
