package sim

import (
	"time"

	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
)

// discovery is the time until Envoy learns that a pod is ready or terminating: it
// queries DNS every second.
const discovery = time.Second

// config is the configuration of a scenario's fleet.
func (s *Scenario) config(settings Settings) *fleet.Config {
	c := &fleet.Config{
		Envoys:   s.Envoys,
		Flush:    settings.Flush,
		Replicas: s.Replicas,
		Settle:   s.WarmUp + s.Settle,
		Pods: fleet.Pods{
			Startup:     s.Startup,
			Schedulable: s.Schedulable,
			Discovery:   discovery,
			Sleep:       settings.Sleep,
			Grace:       settings.Grace,
		},
	}
	for _, m := range s.Models {
		c.Models = append(c.Models, s.fleetModel(m))
	}
	for i := range s.Clients {
		c.Clients = append(c.Clients, s.fleetClients(&s.Clients[i]))
	}
	for _, it := range s.Incidents {
		if it.What != prometheusRestarts {
			c.Incidents = append(c.Incidents, fleet.Incident{At: s.WarmUp + it.At, What: it.What, For: it.For})
		}
	}
	return c
}

func (s *Scenario) fleetModel(m Model) fleet.Model {
	var steps []int
	for _, step := range m.Steps {
		steps = append(steps, s.index(step))
	}
	return fleet.Model{
		Service:   fleet.Times{Mean: m.Service, Distribution: m.Distribution, Variation: m.Variation},
		Instances: m.Instances,
		MaxBatch:  m.MaxBatch,
		MaxDelay:  m.MaxDelay,
		Further:   m.Further,
		Slowdown:  m.Slowdown,
		Steps:     steps,
		Decoupled: m.Decoupled,
	}
}

func (s *Scenario) fleetClients(c *Clients) fleet.Clients {
	var mix []fleet.Share
	for _, share := range c.Models {
		mix = append(mix, fleet.Share{Model: s.index(share.Model), Weight: share.Weight})
	}
	if len(mix) == 0 {
		for i := range s.Models {
			mix = append(mix, fleet.Share{Model: i, Weight: 1})
		}
	}
	leave := c.Leave
	if leave > 0 {
		leave += s.WarmUp
	}
	return fleet.Clients{
		Count:       c.Count,
		Think:       fleet.Times{Mean: c.Think, Distribution: c.ThinkTimes},
		Each:        c.Requests,
		Join:        s.WarmUp + c.Join,
		JoinOver:    c.JoinOver,
		Leave:       leave,
		Stay:        fleet.Times{Mean: c.Stay, Distribution: fleet.Exponential},
		Away:        fleet.Times{Mean: c.Away, Distribution: fleet.Exponential},
		Rate:        c.Rate,
		Burst:       c.Burst,
		Every:       c.Every,
		Arrivals:    c.arrivals,
		Mix:         mix,
		Connections: c.Connections,
		Idle:        c.Idle,
		Timeout:     c.Timeout,
		Retry:       c.Retry,
	}
}

// batch reports whether every client finishes at some time.
func (s *Scenario) batch() bool {
	for _, c := range s.Clients {
		if c.Requests == 0 {
			return false
		}
	}
	return true
}

// clients is the number of clients that finish.
func (s *Scenario) clients() (n int) {
	for _, c := range s.Clients {
		n += c.Count
	}
	return n
}
