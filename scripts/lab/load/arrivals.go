package load

import (
	"math/rand/v2"
	"time"
)

// Arrivals are calls at random times with a mean rate, independent of answers.
type Arrivals struct {
	Address string
	Models  []string      // call i is to Models[i % len(Models)]
	Rate    float64       // calls per second
	Timeout time.Duration // of one call; 0 means 60 s
	Seed    uint64        // the same seed gives the same arrivals
}

// connections shared by the calls of one load.
const connections = 8

// Start makes calls until Stop.
func (a Arrivals) Start() (*Run, error) {
	r := &Run{begin: time.Now(), cancel: make(chan struct{})}
	if a.Timeout == 0 {
		a.Timeout = time.Minute
	}
	clients := make([]*Client, connections)
	for i := range clients {
		var err error
		if clients[i], err = Dial(a.Address, ""); err != nil {
			r.Stop()
			return nil, err
		}
	}
	source := rand.New(rand.NewPCG(a.Seed, 0))
	r.all.Go(func() {
		next := r.begin
		for i := 0; ; i++ {
			next = next.Add(time.Duration(source.ExpFloat64() / a.Rate * float64(time.Second)))
			select {
			case <-r.cancel:
				return
			case <-time.After(time.Until(next)):
			}
			r.all.Go(func() { r.call(clients[i%connections], a.Models[i%len(a.Models)], a.Timeout) })
		}
	})
	go func() { // Close connections after the last call has ended.
		<-r.cancel
		r.all.Wait()
		for _, c := range clients {
			c.Close()
		}
	}()
	return r, nil
}
