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
		"written-form", "needed replicas, with the last sample of healthy replicas (serverLoadReplicas: instant)",
		set("serverLoadReplicas=instant"),
	},
	{"built-in", "needed replicas for clients that only wait (serverLoadThinkTime: 0s)", set("serverLoadThinkTime=0s")},
	{
		"measured", "needed replicas, with the clients that think counted by their connections (serverLoadThinkTime: measured)",
		set("serverLoadThinkTime=measured"),
	},
	{
		"think-60s", "needed replicas, with a think time of 60 s for requests that wait for nobody (serverLoadThinkTime: 60s)",
		set("serverLoadThinkTime=60s", "serverLoadInFlight=active"),
	},
	{
		"fixed", "fixed at the ideal size from the start, not scaled",
		func(ideal int, _ string) []string {
			return []string{"--set", "keda.enabled=false", "--set", "triton.replicas=" + itoa(ideal)}
		},
	},
}

// set is an arm that has only values of its own.
func set(values ...string) func(int, string) []string {
	var args []string
	for _, v := range values {
		args = append(args, "--set", v)
	}
	return func(int, string) []string { return args }
}

// A Phase of a load: either clients that wait for their answers, or arrivals.
type Phase struct {
	Lasts   time.Duration
	Clients load.Clients
	Rate    float64 // arrivals per second
	Models  []string
}

// A Load is applied to the arms that it names.
type Load struct {
	Name   string
	Says   string
	Ideal  int // replicas at which a request takes twice its service time
	Arms   []string
	Phases []Phase
}

var (
	both = []string{"fast", "slow"}
	slow = []string{"slow"}
	laws = []string{"written-form", "built-in", "measured", "fixed"}
)

// Loads of the comparison.
var Loads = []Load{
	{
		"step-16", "16 synchronous clients on two models, starting at one replica", 4, append([]string{"queue-latency"}, laws...),
		[]Phase{{Lasts: 4 * time.Minute, Clients: load.Clients{Number: 16}, Models: both}},
	},
	{
		"thinking-24", "24 clients that think for 1 s between requests of 200 ms", 4, laws,
		[]Phase{{Lasts: 6 * time.Minute, Clients: load.Clients{Number: 24, Think: time.Second}, Models: slow}},
	},
	{
		"thinking-200", "200 clients that think for 1 s between requests of 20 ms", 4, laws,
		[]Phase{{Lasts: 6 * time.Minute, Clients: load.Clients{Number: 200, Think: time.Second}, Models: []string{"fast"}}},
	},
	{
		"joining-80", "80 clients on two models that think for 1 s, stay for 2 minutes and are away for 2", 3, laws,
		[]Phase{{
			Lasts:   8 * time.Minute,
			Clients: load.Clients{Number: 80, Think: time.Second, Stay: 2 * time.Minute, Away: 2 * time.Minute}, Models: both,
		}},
	},
	{
		"open-step", "requests to the slow model at random times, 4 and then 20 per second", 5, append([]string{"think-60s"}, laws...),
		[]Phase{{Lasts: 2 * time.Minute, Rate: 4, Models: slow}, {Lasts: 5 * time.Minute, Rate: 20, Models: slow}},
	},
}

// start starts a phase's clients.
func (p Phase) start(address string, seed uint64) (*load.Run, error) {
	if p.Rate > 0 {
		return load.Arrivals{Address: address, Models: p.Models, Rate: p.Rate, Seed: seed}.Start()
	}
	clients := p.Clients
	clients.Address, clients.Models, clients.Seed = address, p.Models, seed
	return clients.Start()
}
