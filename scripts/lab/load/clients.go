package load

import (
	"context"
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

// Clients are synchronous: each waits for its answer before it calls again.
type Clients struct {
	Address string
	Models  []string // client i calls Models[i % len(Models)]
	Number  int
	Timeout time.Duration // of one call; 0 means 60 s
	Token   Token
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
		r.all.Go(func() {
			defer client.Close()
			r.work(client, c.Models[i%len(c.Models)], c.Timeout)
		})
	}
	return r, nil
}

// work calls until it is stopped. After a failed call it waits for a second before
// it retries.
func (r *Run) work(client *Client, model string, timeout time.Duration) {
	for {
		pause := time.Duration(0)
		if call := r.call(client, model, timeout); call.Err != "" {
			pause = time.Second
		}
		select {
		case <-r.cancel:
			return
		case <-time.After(pause):
		}
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return call
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
