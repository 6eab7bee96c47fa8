// Package ab compares scaling methods under the same load, in the lab.
package ab

import (
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// An Arm is one way to scale the fleet.
type Arm struct {
	Name string
	Says string // for the report
	// Values are arguments of helm after the lab's values file. ideal is the size at
	// which the load's requests take twice their service time.
	Values func(ideal int, queueLatency string) []string
}

// Arms are compared with each other.
var Arms = []Arm{
	{
		"queue-latency",
		"the previous metric (queue latency), as chart 0.3.1 used it: over 30 s, with metricType Value and a threshold of 100 ms",
		func(_ int, query string) []string {
			return []string{
				"--set-string", "serverLoadMetric=" + escape(query), "--set", "serverLoadThreshold=100",
				"--set", "keda.metricType=Value",
			}
		},
	},
	{
		"instant", "needed replicas, with the last sample of healthy replicas (serverLoadReplicas: instant)",
		func(int, string) []string { return []string{"--set", "serverLoadReplicas=instant"} },
	},
	{
		"built-in", "needed replicas, with the chart's defaults",
		func(int, string) []string { return nil },
	},
	{
		"fixed", "fixed at the ideal size from the start, not scaled",
		func(ideal int, _ string) []string {
			return []string{"--set", "keda.enabled=false", "--set", "triton.replicas=" + itoa(ideal)}
		},
	},
}

// A Phase of a load: either clients that wait for their answers, or arrivals.
type Phase struct {
	Lasts   time.Duration
	Clients int
	Rate    float64 // arrivals per second
	Models  []string
}

// A Load is applied to every arm.
type Load struct {
	Name   string
	Says   string
	Ideal  int // replicas at which a request takes twice its service time
	Phases []Phase
}

var both = []string{"fast", "slow"}

// Loads of the comparison. By default only the first one runs.
var Loads = []Load{
	{
		"step-16", "16 synchronous clients on two models, starting at one replica", 4,
		[]Phase{{Lasts: 4 * time.Minute, Clients: 16, Models: both}},
	},
	{
		"step-30", "30 synchronous clients on two models, starting at one replica", 8,
		[]Phase{{Lasts: 4 * time.Minute, Clients: 30, Models: both}},
	},
	{
		"one-model", "12 synchronous clients on the slow model", 6,
		[]Phase{{Lasts: 4 * time.Minute, Clients: 12, Models: []string{"slow"}}},
	},
	{
		"open-step", "calls to the slow model at random times, 4 and then 20 per second", 4,
		[]Phase{{Lasts: 2 * time.Minute, Rate: 4, Models: []string{"slow"}}, {Lasts: 5 * time.Minute, Rate: 20, Models: []string{"slow"}}},
	},
	{
		"open-burst", "calls to the slow model at random times, 4 per second with one minute of 30 per second", 2,
		[]Phase{
			{Lasts: 2 * time.Minute, Rate: 4, Models: []string{"slow"}},
			{Lasts: time.Minute, Rate: 30, Models: []string{"slow"}},
			{Lasts: 4 * time.Minute, Rate: 4, Models: []string{"slow"}},
		},
	},
	{
		"long", "8 synchronous clients on a model that takes 10 s", 4,
		[]Phase{{Lasts: 6 * time.Minute, Clients: 8, Models: []string{"long"}}},
	},
	{
		"mixture", "16 synchronous clients on the fast model, then on the slow one", 8,
		[]Phase{{Lasts: 3 * time.Minute, Clients: 16, Models: []string{"fast"}}, {Lasts: 4 * time.Minute, Clients: 16, Models: []string{"slow"}}},
	},
}

// start starts a phase's clients.
func (p Phase) start(address string, seed uint64) (*load.Run, error) {
	if p.Rate > 0 {
		return load.Arrivals{Address: address, Models: p.Models, Rate: p.Rate, Seed: seed}.Start()
	}
	return load.Clients{Address: address, Models: p.Models, Number: p.Clients}.Start()
}
