package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
)

// invalid collects what is wrong with a scenario.
type invalid struct {
	file string
	errs []error
}

func (f *invalid) add(key, text string) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s: %s", f.file, key, text))
}

// unless reports a key whose value is invalid.
func (f *invalid) unless(ok bool, key, must string, got any) {
	if !ok {
		f.add(key, fmt.Sprintf("must be %s, got %v", must, got))
	}
}

func (f *invalid) oneOf(key, got string, allowed ...string) {
	last := len(allowed) - 1
	f.unless(slices.Contains(allowed, got), key, strings.Join(allowed[:last], ", ")+" or "+allowed[last], fmt.Sprintf("%q", got))
}

// complete fills in defaults that depend on other keys, and validates the scenario.
func (s *Scenario) complete(file string) error {
	f := &invalid{file: file}
	if s.Settle == 0 {
		s.Settle = s.Duration / 4
	}
	if s.Wanted == (Goal{}) {
		s.Wanted.Inflation = 2
	}
	f.unless(s.About != "", "about", "a sentence that says what the scenario shows", `""`)
	f.unless(s.Duration >= time.Minute && s.Duration <= maxDuration, "duration", "from 1m to 744h", s.Duration)
	f.unless(s.WarmUp <= time.Hour, "warmUp", "at most 1h", s.WarmUp)
	f.unless(s.Settle < s.Duration, "settle", "before the end of the duration", s.Settle)
	f.unless(s.Seeds >= 1 && s.Seeds <= 1000, "seeds", "from 1 to 1000", s.Seeds)
	f.unless(s.Wanted.Inflation == 0 || s.Wanted.P90 == 0, "wanted", "inflation or p90", "both")
	f.unless(s.Wanted.Inflation == 0 || s.Wanted.Inflation > 1, "wanted.inflation", "above 1", s.Wanted.Inflation)
	f.unless(s.Replicas >= 0 && s.Replicas <= maxReplicas, "replicas", fmt.Sprintf("from 0 to %d", maxReplicas), s.Replicas)
	f.unless(s.Envoys >= 1 && s.Envoys <= 100, "envoys", "from 1 to 100", s.Envoys)
	f.unless(s.Schedulable >= 0, "schedulable", "at least 0", s.Schedulable)
	f.unless(len(s.Models) > 0, "models", "a list of at least one", "none")
	f.unless(len(s.Clients) > 0, "clients", "a list of at least one", "none")
	for i := range s.Models {
		s.model(f, fmt.Sprintf("models[%d]", i), i)
	}
	for i := range s.Clients {
		s.group(f, fmt.Sprintf("clients[%d]", i), &s.Clients[i])
	}
	for i, it := range s.Incidents {
		f.oneOf(fmt.Sprintf("incidents[%d].what", i), it.What, incidents...)
	}
	for i := range s.Policies {
		s.policy(f, fmt.Sprintf("policies[%d]", i), i)
	}
	return errors.Join(f.errs...)
}

// maxDuration limits the simulated time of a run.
const maxDuration = 31 * 24 * time.Hour

// maxReplicas limits the memory that a scenario can take.
const maxReplicas = 10_000

func (s *Scenario) model(f *invalid, key string, i int) {
	m := &s.Models[i]
	if m.Distribution == "" {
		m.Distribution = fleet.Exponential
	}
	m.Instances = max(m.Instances, 1)
	f.unless(m.Name != "", key+".name", "set", `""`)
	for _, other := range s.Models[:i] {
		f.unless(other.Name != m.Name, key+".name", "unique", m.Name+" again")
	}
	f.distribution(key+".distribution", m.Distribution)
	f.unless(m.Variation >= 0 && m.Variation <= 10, key+".variation", "from 0 to 10", m.Variation)
	f.unless(m.Distribution == fleet.Lognormal || m.Variation == 0, key+".variation", "set for lognormal times alone", m.Variation)
	f.unless(m.MaxBatch >= 0, key+".maxBatch", "at least 0", m.MaxBatch)
	f.unless(m.Slowdown >= 0 && m.Slowdown <= 10, key+".slowdown", "from 0 to 10", m.Slowdown)
	if len(m.Steps) == 0 {
		f.unless(m.Service > 0, key+".service", "above 0", m.Service)
		return
	}
	f.unless(m.Service == 0, key+".service", "unset for an ensemble, whose steps take the time", m.Service)
	for j, step := range m.Steps {
		at := s.index(step)
		f.unless(at >= 0 && len(s.Models[max(at, 0)].Steps) == 0, fmt.Sprintf("%s.steps[%d]", key, j), "a model that is not an ensemble", step)
	}
}

func (f *invalid) distribution(key string, d fleet.Distribution) {
	f.oneOf(key, string(d), string(fleet.Constant), string(fleet.Exponential), string(fleet.Lognormal))
}

// index is the index of a model, or -1 if there is none of that name.
func (s *Scenario) index(model string) int {
	return slices.IndexFunc(s.Models, func(m Model) bool { return m.Name == model })
}

func (s *Scenario) group(f *invalid, key string, c *Clients) {
	if c.ThinkTimes == "" {
		c.ThinkTimes = fleet.Exponential
	}
	if c.Retry == 0 {
		c.Retry = time.Second
	}
	open := c.Rate > 0 || c.Every > 0 || c.Trace != ""
	f.oneOf(key+".thinkTimes", string(c.ThinkTimes), string(fleet.Constant), string(fleet.Exponential))
	if !open && c.Count == 0 {
		f.add(key, "must have a count, or one of rate, every and trace, got neither")
	}
	const alone = "unset beside rate, every or trace"
	f.unless(!open || c.Count == 0, key+".count", alone, c.Count)
	f.unless(!open || c.Think == 0, key+".think", alone, c.Think)
	f.unless(!open || c.Requests == 0, key+".requests", alone, c.Requests)
	f.unless(c.Count <= 1_000_000, key+".count", "at most 1000000", c.Count)
	f.unless(c.Rate >= 0 && c.Rate <= 1e6, key+".rate", "from 0 to 1000000", c.Rate)
	f.unless(c.Burst >= 0, key+".burst", "at least 0", c.Burst)
	f.unless(c.Leave == 0 || c.Leave > c.Join+c.JoinOver, key+".leave", "after they have joined", c.Leave)
	f.unless((c.Stay > 0) == (c.Away > 0), key+".stay", "set together with away", c.Stay)
	f.unless(c.Connections >= 0 && c.Idle >= 0, key+".connections", "at least 0, as idle", c.Connections)
	f.unless(c.Retry >= time.Millisecond, key+".retry", "at least 1ms", c.Retry)
	for i, share := range c.Models {
		at := fmt.Sprintf("%s.models[%d]", key, i)
		f.unless(s.index(share.Model) >= 0, at+".model", "one of the models", share.Model)
		f.unless(share.Weight > 0, at+".weight", "above 0", share.Weight)
	}
}

func (s *Scenario) policy(f *invalid, key string, i int) {
	p := &s.Policies[i]
	f.unless(p.Name != "", key+".name", "set", `""`)
	for _, other := range s.Policies[:i] {
		f.unless(other.Name != p.Name, key+".name", "unique", p.Name+" again")
	}
	f.unless(p.Replicas >= 0 && p.Replicas <= maxReplicas, key+".replicas", fmt.Sprintf("from 0 to %d", maxReplicas), p.Replicas)
	if p.Replicas > 0 && len(p.Values) > 0 {
		f.add(key, "must set replicas or values, got both")
	}
}
