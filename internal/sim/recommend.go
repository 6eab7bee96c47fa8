package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Search has what a recommendation needs.
type Search struct {
	Chart    Chart
	Defaults map[string]any                                  // the chart's default values
	Progress func(stage string, done, of int, share float64) // called regularly, by one goroutine at a time; may be nil
}

// finalists is how many candidates run with every seed at a time.
const finalists = 4

// rounds limits the steps from one candidate to a cheaper one beside it.
const rounds = 4

// searching is the state of a search.
type searching struct {
	Search
	ctx      context.Context
	scenario *Scenario
	report   *Report // of every policy: the least fixed fleet, the defaults, and then the candidates
	tried    []*candidate
	known    map[string]bool // candidates by their values, so that none is tried twice
}

// Recommend searches for the cheapest values that keep the scenario's goal with every
// seed. It tries a grid of thresholds and think times with the first seed, then what is
// beside the cheapest that keeps the goal, then runs the cheapest with every seed. If
// the context is canceled, the advice is what is known so far.
func Recommend(ctx context.Context, s *Scenario, o Search) (*Advice, error) {
	if metric, _ := dig(s.Values, "serverLoadMetric").(string); metric != "" {
		return nil, fmt.Errorf("%s: values.serverLoadMetric: must be empty, since what is recommended are values of the built-in metric", s.Name)
	}
	f := &searching{Search: o, ctx: ctx, scenario: s, known: map[string]bool{}, report: &Report{}}
	first, err := f.start()
	if err != nil {
		return nil, err
	}
	if err := f.run("grid", f.add(f.grid()), 1); err != nil {
		return nil, err
	}
	for range rounds {
		from := f.best(1)
		if from == nil {
			break
		}
		if err := f.run("neighbors", f.add(f.neighbors(from)), 1); err != nil {
			return nil, err
		}
		if f.best(1) == from {
			break
		}
	}
	if err := f.finals(first); err != nil {
		return nil, err
	}
	return f.advice()
}

// start finds the least fixed fleet, and runs it and today's values.
func (f *searching) start() (*candidate, error) {
	vals, err := f.scenario.values(Policy{})
	if err != nil {
		return nil, err
	}
	settings, err := f.Chart(vals)
	if err != nil {
		return nil, err
	}
	w := f.workers("least fixed fleet", 0)
	if f.report.Least, err = w.least(settings); err != nil {
		return nil, err
	}
	fixed := &candidate{settings: settings, fixed: f.report.Least}
	today := &candidate{settings: settings}
	f.enter(fixed, leastFleet)
	f.enter(today, "today's values")
	f.known[today.key(f)] = true
	if f.report.Least == 0 {
		return today, f.run("today's values", []*candidate{today}, 1)
	}
	return today, f.run("today's values", []*candidate{today, fixed}, 1)
}

// enter adds a candidate to the report.
func (f *searching) enter(c *candidate, name string) {
	f.report.Policies = append(f.report.Policies, Result{Name: name, Fixed: c.fixed, Runs: make([]*Outcome, f.scenario.Seeds)})
	c.index = len(f.report.Policies) - 1
	f.tried = append(f.tried, c)
}

// add enters candidates that were not tried before and that the chart can be rendered with.
func (f *searching) add(all []knobs) (added []*candidate) {
	for _, k := range all {
		c := &candidate{knobs: k}
		if f.known[c.key(f)] {
			continue
		}
		f.known[c.key(f)] = true
		vals, err := f.scenario.values(Policy{Values: k.nested()})
		if err != nil {
			continue
		}
		if c.settings, err = f.Chart(vals); err != nil {
			continue // such as a window that is shorter than two scrapes
		}
		f.enter(c, k.String())
		added = append(added, c)
	}
	return added
}

func (f *searching) workers(stage string, of int) *workers {
	w := &workers{ctx: f.ctx, scenario: f.scenario, report: f.report, of: of}
	if f.Progress != nil {
		w.progress = func(done, of int, share float64) { f.Progress(stage, done, of, share) }
	}
	return w
}

// run runs candidates with the first seeds, but not what has run already.
func (f *searching) run(stage string, all []*candidate, seeds int) error {
	var jobs []job
	for _, c := range all {
		for seed := c.asked; seed < seeds; seed++ {
			jobs = append(jobs, job{policy: c.index, seed: seed, settings: c.settings, fixed: c.fixed, backlog: f.scenario.clients() + hopeless})
		}
		c.asked = max(c.asked, seeds)
	}
	if len(jobs) == 0 || f.ctx.Err() != nil {
		return nil
	}
	err := f.workers(stage, len(jobs)).all(jobs)
	if f.ctx.Err() != nil {
		f.forget(jobs)
	}
	return err
}

// forget removes the runs that were interrupted, which say nothing of the goal.
func (f *searching) forget(jobs []job) {
	for _, j := range jobs {
		if runs := f.report.Policies[j.policy].Runs; runs[j.seed] != nil && runs[j.seed].Interrupted {
			runs[j.seed] = nil
		}
	}
}

// finals runs the cheapest candidates with every seed, until none that has not run
// with every seed is cheaper than the cheapest that keeps the goal with all of them.
func (f *searching) finals(today *candidate) error {
	seeds := f.scenario.Seeds
	all := []*candidate{today}
	if f.report.Least > 0 {
		all = append(all, f.tried[0])
	}
	for f.ctx.Err() == nil {
		found := f.best(seeds)
		open := slices.DeleteFunc(slices.Clone(f.ranked(1)), func(c *candidate) bool {
			return c.asked >= seeds || found != nil && f.cost(c) >= f.cost(found)
		})
		all = append(all, open[:min(finalists, len(open))]...)
		if len(all) == 0 {
			return nil
		}
		if err := f.run("finalists", all, seeds); err != nil {
			return err
		}
		all = nil
	}
	return nil
}

// best is the cheapest candidate that keeps the goal with a number of seeds. With one
// seed and none that keeps it, it is the closest.
func (f *searching) best(seeds int) *candidate {
	if all := f.ranked(seeds); len(all) > 0 {
		return all[0]
	}
	if seeds > 1 {
		return nil
	}
	return f.closest()
}

// ranked are the candidates that keep the goal with at least a number of seeds, the
// cheapest first. Of those with equal outcomes it has the first alone.
func (f *searching) ranked(seeds int) (all []*candidate) {
	for _, c := range f.tried {
		if c.fixed == 0 && len(f.runs(c)) >= seeds && f.keeps(c) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(f.cost(a), f.cost(b)) })
	return slices.CompactFunc(all, func(a, b *candidate) bool {
		return f.cost(a) == f.cost(b) && f.reached(a) == f.reached(b)
	})
}

// closest is the candidate that comes closest to the goal.
func (f *searching) closest() *candidate {
	var found *candidate
	for _, c := range f.tried {
		if c.fixed == 0 && len(f.runs(c)) > 0 && (found == nil || f.reached(c) < f.reached(found)) {
			found = c
		}
	}
	return found
}

// runs are the complete runs of a candidate.
func (f *searching) runs(c *candidate) (all []*Outcome) {
	for _, o := range f.report.Policies[c.index].Runs {
		if o != nil && !o.Interrupted {
			all = append(all, o)
		}
	}
	return all
}

// keeps reports whether a candidate keeps the goal in every run, and loses no more
// requests than today's values do.
func (f *searching) keeps(c *candidate) bool {
	today := f.report.Policies[1].Runs
	for i, o := range f.report.Policies[c.index].Runs {
		switch {
		case o == nil:
		case o.Interrupted || !f.scenario.Wanted.kept(o):
			return false
		case c.fixed == 0 && today[i] != nil && !today[i].Interrupted && o.lost() > today[i].lost():
			return false
		}
	}
	return true
}

func (o *Outcome) lost() int64 { return o.Refused + o.Failed }

// cost is the mean of the replica-minutes.
func (f *searching) cost(c *candidate) float64 {
	r := Result{Runs: f.runs(c)}
	return r.Over(func(o *Outcome) float64 { return o.ReplicaMinutes }).Mean
}

// reached is the most that the goal's number came to in any run.
func (f *searching) reached(c *candidate) float64 {
	r := Result{Runs: f.runs(c)}
	return r.Over(f.scenario.Wanted.of).Most
}

// of is the number that a goal limits.
func (g Goal) of(o *Outcome) float64 {
	if g.P90 > 0 {
		return o.SteadyP90
	}
	return o.SteadyInflation
}

// limit is the most that the number may be.
func (g Goal) limit() float64 {
	if g.P90 > 0 {
		return g.P90.Seconds()
	}
	return g.Inflation
}

var errNothing = errors.New("interrupted before any run was complete")
