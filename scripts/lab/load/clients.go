package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/status"
)

// A Call is one finished call.
type Call struct {
	Model string        `json:"model"`
	At    time.Duration `json:"at"`   // its start, since the start of the load
	Took  time.Duration `json:"took"` // until the answer
	Err   string        `json:"err,omitempty"`
	Code  string        `json:"code"` // name of the gRPC status, "OK" for an answer
}

// Clients are synchronous: each waits for its answer, then thinks, then calls
// again. Times are exponential, with the given means.
type Clients struct {
	Address string
	Models  []string // client i calls Models[i % len(Models)]
	Number  int
	Timeout time.Duration // of one call; 0 means 60 s
	Token   Token
	Think   time.Duration // between an answer and the next call
	// Stay is the time for which a client is connected, 0 for the whole load, and
	// Away the time until it connects again. At the start, a client is connected
	// with the probability Stay / (Stay + Away).
	Stay, Away time.Duration
	Seed       uint64 // the same seed gives the same random times
}

// A Run is a load in progress.
type Run struct {
	begin  time.Time
	cancel chan struct{}
	all    sync.WaitGroup
	mu     sync.Mutex
	calls  []Call
}

// Start starts the clients.
func (c Clients) Start() (*Run, error) {
	r := &Run{begin: time.Now(), cancel: make(chan struct{})}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	for i := range c.Number {
		client, err := Dial(c.Address, c.Token)
		if err != nil {
			r.Stop()
			return nil, err
		}
		random := rand.New(rand.NewPCG(c.Seed, uint64(i)))
		r.all.Go(func() { c.live(r, client, i, random) })
	}
	return r, nil
}

// live is the life of client i: connected and away, in turn.
func (c Clients) live(r *Run, client *Client, i int, random *rand.Rand) {
	defer func() { client.Close() }()
	away := random.Float64()*(c.Stay+c.Away).Seconds() > c.Stay.Seconds()
	for {
		if away && !r.wait(exponential(random, c.Away)) {
			return
		}
		if !c.work(r, client, i, random) {
			return
		}
		client.Close()
		next, err := Dial(c.Address, c.Token)
		if err != nil {
			r.keep(Call{At: time.Since(r.begin), Err: err.Error()})
			return
		}
		client, away = next, true
	}
}

// work calls until the client leaves. It reports false if the load has ended.
// After a failed call it waits for a second before it retries.
func (c Clients) work(r *Run, client *Client, i int, random *rand.Rand) bool {
	leave := time.Now().Add(exponential(random, c.Stay))
	for c.Stay == 0 || time.Now().Before(leave) {
		pause := exponential(random, c.Think)
		if call := r.call(client, c.Models[i%len(c.Models)], c.Timeout); call.Err != "" {
			pause = time.Second
		}
		if !r.wait(pause) {
			return false
		}
	}
	return true
}

// exponential is a random time with a mean.
func exponential(random *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(random.ExpFloat64() * float64(mean))
}

// wait reports false if the load ends first.
func (r *Run) wait(d time.Duration) bool {
	select {
	case <-r.cancel:
		return false
	case <-time.After(d):
		return true
	}
}

func (r *Run) call(client *Client, model string, timeout time.Duration) Call {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	begin := time.Now()
	err := client.Infer(ctx, model)
	call := Call{
		Model: model, At: begin.Sub(r.begin), Took: time.Since(begin), Code: status.Code(err).String(),
	}
	if err != nil {
		call.Err = err.Error()
	}
	r.keep(call)
	return call
}

func (r *Run) keep(call Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

// SoFar is the result up to now.
func (r *Run) SoFar() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Result{Lasted: time.Since(r.begin), Calls: append([]Call(nil), r.calls...)}
}

// Stop lets every client finish its call, and returns all calls.
func (r *Run) Stop() Result {
	close(r.cancel)
	r.all.Wait()
	return r.SoFar()
}
