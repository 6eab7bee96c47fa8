package fleet

import (
	"math"
	"testing"
	"time"
)

// busyFleet has clients that think and call a model and an ensemble.
func busyFleet() *Config {
	return &Config{
		Models: []Model{
			{Service: Times{80 * time.Millisecond, Lognormal, 0.5}, Instances: 2},
			{Service: Times{20 * time.Millisecond, Exponential, 0}, Instances: 1, MaxBatch: 4, MaxDelay: 2 * time.Millisecond},
			{Steps: []int{1, 0}},
		},
		Clients: []Clients{
			{Count: 30, Think: Times{second, Exponential, 0}, Mix: []Share{{0, 1}, {1, 2}}},
			{Rate: 5, Burst: 2, Mix: []Share{{2, 1}}, Connections: 3},
		},
		Envoys:   2,
		Flush:    second,
		Replicas: 4,
	}
}

// TestCountersGiveTheTruth compares Little's law on the exported counters with the
// requests that were really in flight and executing.
func TestCountersGiveTheTruth(t *testing.T) {
	w := New(busyFleet(), 3)
	w.Run(6 * time.Hour)
	lasted := w.Now().Seconds()
	inFlight, served := 0.0, 0.0
	for _, e := range w.Envoys() {
		inFlight += e.TimeSum / 1e3 / lasted
	}
	for id := range w.Created() {
		for model := range 2 {
			c := w.Model(id, model)
			served += (c.Request - c.Queue).Seconds() / lasted
		}
	}
	truth := w.Integrals()
	within(t, "in flight by Envoy", inFlight, truth.InFlight/lasted, 0.02)
	within(t, "executing by Triton", served, truth.Executing/lasted, 0.001)
	ensembles := 0.0
	for id := range w.Created() {
		c := w.Model(id, 2)
		if c.Queue != 0 {
			t.Errorf("an ensemble queues for %s", c.Queue)
		}
		ensembles += c.Request.Seconds()
	}
	if ensembles < 5*0.1*lasted {
		t.Errorf("ensembles took %.0f s, less than their steps", ensembles)
	}
}

// TestWholeMilliseconds uses values from a real Envoy.
func TestWholeMilliseconds(t *testing.T) {
	for _, tc := range []struct {
		took time.Duration
		want float64
	}{
		{300 * time.Microsecond, 0},
		{1360 * time.Microsecond, 1.05},
		{2420 * time.Microsecond, 2.05},
		{144700 * time.Microsecond, 145},
	} {
		e := envoy{}
		e.record(tc.took)
		if e.counters.TimeSum != 0 {
			t.Error("a time is exported before the flush")
		}
		e.flush()
		if math.Abs(e.counters.TimeSum-tc.want) > 0.005*tc.want {
			t.Errorf("%s: got %g ms, want %g", tc.took, e.counters.TimeSum, tc.want)
		}
	}
}

// Abandoned requests are not counted, and the gauges of a replica return to 0 when
// calls end.
func TestNothingStaysInFlight(t *testing.T) {
	c := busyFleet()
	for i := range c.Clients {
		c.Clients[i].Leave = time.Hour
		c.Clients[i].Timeout = 150 * time.Millisecond
		c.Clients[i].Retry = 10 * time.Millisecond
	}
	w := New(c, 5)
	w.Run(2 * time.Hour)
	for i, e := range w.Envoys() {
		if e.Active != 0 || e.Connections != 0 {
			t.Errorf("Envoy %d: %d requests and %d connections are left", i, e.Active, e.Connections)
		}
	}
	for id := range w.Created() {
		for model := range c.Models {
			if n := w.Model(id, model).Pending; n != 0 {
				t.Errorf("replica %d, model %d: %d requests wait", id, model, n)
			}
		}
	}
	failed, answered := int64(0), int64(0)
	for _, s := range w.Stats() {
		failed += s.Failed
		answered += s.Answered
		if s.All.Quantile(1) > 0.16 {
			t.Errorf("an answer came after %g s, when nobody waited", s.All.Quantile(1))
		}
	}
	if failed == 0 || answered == 0 {
		t.Errorf("%d calls given up, %d answered", failed, answered)
	}
	if n := w.truth.inFlight.value + w.truth.executing.value; n != 0 {
		t.Errorf("%d requests are left", n)
	}
}

// Pods start up, wait until they can be scheduled, and drain.
func TestPodsComeAndGo(t *testing.T) {
	c := busyFleet()
	c.Replicas = 1
	c.Pods = Pods{Startup: 30 * second, Schedulable: 3, Discovery: second, Sleep: 10 * second, Grace: 60 * second}
	w := New(c, 1)
	w.Run(time.Minute)
	w.Scale(5)
	w.Run(time.Minute + 29*second)
	expect(t, w, Fleet{Wanted: 5, Unschedulable: 2, Starting: 2, Ready: 1})
	w.Run(2 * time.Minute)
	expect(t, w, Fleet{Wanted: 5, Unschedulable: 2, Ready: 3})
	w.Scale(2)
	expect(t, w, Fleet{Wanted: 2, Ready: 2, Draining: 1})
	w.Run(2*time.Minute + 9*second)
	expect(t, w, Fleet{Wanted: 2, Ready: 2, Draining: 1})
	w.Run(3 * time.Minute)
	expect(t, w, Fleet{Wanted: 2, Ready: 2})
	for _, s := range w.Stats() {
		if s.Failed > 0 {
			t.Errorf("%d calls failed on a pod that drained", s.Failed)
		}
	}
	if got := w.Integrals().Replicas; math.Abs(got-(180+2*120-50)) > 1 {
		t.Errorf("pods held GPUs for %g s", got)
	}
}

func expect(t *testing.T, w *World, want Fleet) {
	t.Helper()
	if got := w.Fleet(); got != want {
		t.Errorf("at %s: got %+v, want %+v", w.Now(), got, want)
	}
}
