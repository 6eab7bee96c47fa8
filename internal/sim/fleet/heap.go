package fleet

import "time"

// kind of an event.
type kind uint8

const (
	call      kind = iota // client a calls
	arrive                // the open clients of group a send their next requests
	join                  // client a joins
	leave                 // client a leaves after the answer that it waits for
	giveUp                // the client of request a times out, if a is still its request number b
	finish                // the batch that starts with request b ends on replica a
	fillBatch             // model b on replica a has waited long enough for a batch
	ready                 // replica a becomes ready
	route                 // the Envoys learn that replica a is ready
	unroute               // the Envoys learn that replica a is terminating
	exit                  // replica a exits once it is idle
	kill                  // replica a is killed
	flush                 // the Envoys flush their histograms
	incident              // incident a of the configuration happens
	resume                // a stall is over
)

type event struct {
	at   time.Duration
	a, b int32
	kind kind
}

// heap is a 4-ary heap of events by time. It allocates only when it grows.
type heap []event

func (h *heap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if s[parent].at <= e.at {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
	*h = s
}

// pop removes the earliest event of a heap that is not empty.
func (h *heap) pop() event {
	s := *h
	top := s[0]
	last := s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= len(s) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(s)); c++ {
			if s[c].at < s[least].at {
				least = c
			}
		}
		if s[least].at >= last.at {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = last
	return top
}
