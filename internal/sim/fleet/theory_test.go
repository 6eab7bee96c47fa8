package fleet

import (
	"math"
	"testing"
	"time"
)

const second = time.Second

// erlangC is the probability that a request of an M/M/c queue waits, for an offered
// load of a Erlangs.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

// TestOpenQueueIsErlangs compares Poisson arrivals at c instances with Erlang's
// formula.
func TestOpenQueueIsErlangs(t *testing.T) {
	for _, tc := range []struct {
		instances int
		rate      float64 // per second, at a service time of 100 ms
	}{{1, 5}, {1, 8}, {4, 32}, {10, 90}} {
		c := Config{
			Models:   []Model{{Service: Times{100 * time.Millisecond, Exponential, 0}, Instances: tc.instances}},
			Clients:  []Clients{{Rate: tc.rate, Mix: []Share{{0, 1}}}},
			Flush:    second,
			Replicas: 1,
		}
		w := New(&c, 1)
		w.Run(20 * time.Hour)
		a := tc.rate * 0.1
		wantWait := erlangC(tc.instances, a) * 0.1 / (float64(tc.instances) - a)
		latency := &w.Stats()[0].All
		lasted := w.Now().Seconds()
		within(t, "mean time", latency.Mean(), 0.1+wantWait, 0.02)
		within(t, "in flight", w.Integrals().InFlight/lasted, tc.rate*(0.1+wantWait), 0.02)
		within(t, "executing", w.Integrals().Executing/lasted, a, 0.005)
	}
}

// repairman is the mean number of clients that are queued or served in the
// machine-repairman model: n clients, think time z, service time s, c instances.
func repairman(n, c int, z, s float64) (inFlight, throughput float64) {
	p := make([]float64, n+1)
	p[0] = 1
	sum := 1.0
	for k := 1; k <= n; k++ {
		p[k] = p[k-1] * float64(n-k+1) / z * s / float64(min(k, c))
		sum += p[k]
	}
	for k := range p {
		inFlight += float64(k) * p[k] / sum
		throughput += float64(min(k, c)) / s * p[k] / sum
	}
	return inFlight, throughput
}

// TestMachineRepairman compares clients that think with the closed
// queue's formula.
func TestMachineRepairman(t *testing.T) {
	for _, tc := range []struct {
		clients, instances int
		think              time.Duration
	}{{20, 1, second}, {10, 1, second}, {40, 3, second}, {200, 4, 5 * second}} {
		c := Config{
			Models: []Model{{Service: Times{100 * time.Millisecond, Exponential, 0}, Instances: tc.instances}},
			Clients: []Clients{{
				Count: tc.clients, Think: Times{tc.think, Exponential, 0}, Mix: []Share{{0, 1}},
			}},
			Flush:    second,
			Replicas: 1,
		}
		w := New(&c, 1)
		w.Run(20 * time.Hour)
		inFlight, throughput := repairman(tc.clients, tc.instances, tc.think.Seconds(), 0.1)
		lasted := w.Now().Seconds()
		within(t, "in flight", w.Integrals().InFlight/lasted, inFlight, 0.02)
		within(t, "throughput", float64(w.Stats()[0].Answered)/lasted, throughput, 0.01)
	}
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s: got %.5g, want %.5g within %g %%", what, got, want, 100*share)
	}
}
