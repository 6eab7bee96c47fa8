package sim

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A Chart renders values and reads the settings of the fleet from the manifests.
type Chart func(values map[string]any) (Settings, error)

// Options of a comparison.
type Options struct {
	Chart    Chart
	Policies []string                          // policies to run; empty means all and the least fixed fleet
	Progress func(done, of int, share float64) // called regularly, by one goroutine at a time; may be nil
}

// A Report has the results of a scenario.
type Report struct {
	Scenario    string   `json:"scenario"`
	About       string   `json:"about"`
	Seconds     float64  `json:"seconds"` // simulated in each run
	Settle      float64  `json:"settleSeconds"`
	Wanted      string   `json:"wanted"`
	Searched    bool     `json:"-"`                         // the least fixed fleet was searched for
	Least       int      `json:"leastFixedFleet,omitempty"` // replicas; 0 if none was found
	Interrupted bool     `json:"interrupted,omitempty"`
	Policies    []Result `json:"policies"`
}

// A Result has the runs of one policy, one for each seed.
type Result struct {
	Name  string     `json:"name"`
	Fixed int        `json:"fixed,omitempty"`
	Runs  []*Outcome `json:"runs"`
}

// leastFleet names the smallest fixed fleet that meets the goal.
const leastFleet = "least fixed fleet"

// job is one run of one policy.
type job struct {
	policy   int
	seed     int
	settings Settings
	fixed    int // replicas of a fixed fleet
	backlog  int // requests in flight that end the run; 0 for none
}

// Compare runs every policy of a scenario with every seed, and searches for the
// smallest fixed fleet that meets the goal. If the context is canceled, the report
// has the results so far.
func Compare(ctx context.Context, s *Scenario, o Options) (*Report, error) {
	policies, err := s.chosen(o.Policies)
	if err != nil {
		return nil, err
	}
	jobs, err := s.jobs(policies, o.Chart)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Scenario: s.Name, About: s.About, Seconds: s.Duration.Seconds(), Settle: s.Settle.Seconds(), Wanted: s.Wanted.String(),
		Policies: make([]Result, len(policies)+1),
	}
	for i, p := range policies {
		r.Policies[i+1] = Result{Name: p.Name, Fixed: p.Replicas, Runs: make([]*Outcome, s.Seeds)}
	}
	r.Policies[0] = Result{Name: leastFleet, Runs: make([]*Outcome, s.Seeds)}
	w := &workers{ctx: ctx, scenario: s, report: r, progress: o.Progress, of: len(jobs)}
	if r.Searched = len(o.Policies) == 0; r.Searched {
		if r.Least, err = w.least(jobs[0].settings); err != nil {
			return nil, err
		}
	}
	if r.Least > 0 {
		w.of += s.Seeds
		r.Policies[0].Fixed = r.Least
		for seed := range s.Seeds {
			jobs = append(jobs, job{policy: 0, seed: seed, settings: jobs[0].settings, fixed: r.Least})
		}
	}
	err = w.all(jobs)
	r.Interrupted = ctx.Err() != nil
	r.compact()
	return r, err
}

func (s *Scenario) jobs(policies []Policy, chart Chart) ([]job, error) {
	var jobs []job
	for i, p := range policies {
		vals, err := s.values(p)
		if err != nil {
			return nil, err
		}
		settings, err := chart(vals)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
		for seed := range s.Seeds {
			jobs = append(jobs, job{policy: i + 1, seed: seed, settings: settings, fixed: p.Replicas})
		}
	}
	return jobs, nil
}

// compact removes runs that were never started.
func (r *Report) compact() {
	var all []Result
	for _, p := range r.Policies {
		var runs []*Outcome
		for _, o := range p.Runs {
			if o != nil {
				runs = append(runs, o)
			}
		}
		if p.Runs = runs; len(runs) > 0 {
			all = append(all, p)
		}
	}
	r.Policies = all
}

// workers run jobs on every core.
type workers struct {
	ctx      context.Context
	scenario *Scenario
	report   *Report
	progress func(done, of int, share float64)
	of       int

	lock   sync.Mutex
	done   int
	shares map[int]float64 // of each running job that is done
	err    error
}

func (w *workers) all(jobs []job) error {
	w.shares = map[int]float64{}
	queue := make(chan int)
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		group.Go(func() {
			for i := range queue {
				w.run(i, jobs[i])
			}
		})
	}
	for i := range jobs {
		if w.ctx.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	group.Wait()
	return w.err
}

func (w *workers) run(i int, j job) {
	if w.ctx.Err() != nil {
		return
	}
	progress := func(share float64) { w.tell(i, share) }
	var o *Outcome
	var err error
	seed := uint64(j.seed + 1)
	if j.fixed > 0 {
		o, err = w.scenario.fixed(w.ctx, j.settings, j.fixed, seed, j.backlog, progress)
	} else {
		o, err = w.scenario.scaled(w.ctx, j.settings, seed, j.backlog, progress)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.report.Policies[j.policy].Runs[j.seed] = o
	if err != nil && w.err == nil {
		w.err = err
	}
	w.done++
	delete(w.shares, i)
}

func (w *workers) tell(i int, share float64) {
	if w.progress == nil {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.shares[i] = share
	sum := float64(w.done)
	for _, s := range w.shares {
		sum += s
	}
	w.progress(w.done, w.of, sum/float64(w.of))
}

// hopeless is the number of requests in flight, beyond one for each client, at
// which a fleet is certainly too small.
const hopeless = 20_000

// mostFixed is the largest fixed fleet that is tried.
const mostFixed = 1024

// least is the smallest fixed fleet that meets the goal with the first seed, or 0
// if there is none.
func (w *workers) least(settings Settings) (int, error) {
	tooFew, enough := 0, 1
	for {
		ok, err := w.keeps(settings, enough)
		if err != nil || w.ctx.Err() != nil {
			return 0, err
		}
		if ok {
			break
		}
		if tooFew = enough; tooFew >= mostFixed {
			return 0, nil
		}
		enough *= 2
	}
	for enough-tooFew > 1 {
		middle := (tooFew + enough) / 2
		ok, err := w.keeps(settings, middle)
		if err != nil || w.ctx.Err() != nil {
			return 0, err
		}
		if ok {
			enough = middle
		} else {
			tooFew = middle
		}
	}
	return enough, nil
}

func (w *workers) keeps(settings Settings, replicas int) (bool, error) {
	o, err := w.scenario.fixed(w.ctx, settings, replicas, 1, w.scenario.clients()+hopeless, func(float64) {
		if w.progress != nil {
			w.progress(0, w.of, 0)
		}
	})
	if err != nil {
		return false, err
	}
	return !o.Interrupted && w.scenario.Wanted.kept(o), nil
}

func (g Goal) kept(o *Outcome) bool {
	if o.SteadyInFlight == 0 && o.SteadyInflation == 0 {
		return true // there were no requests
	}
	if g.P90 > 0 {
		return o.SteadyP90 <= g.P90.Seconds()
	}
	return o.SteadyInflation > 0 && o.SteadyInflation <= g.Inflation
}

func (g Goal) String() string {
	if g.P90 > 0 {
		return fmt.Sprintf("90 %% of the answers within %s", g.P90.Round(time.Microsecond))
	}
	return fmt.Sprintf("a mean time of at most %g times the service time", g.Inflation)
}
