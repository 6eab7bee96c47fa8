package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/hpa"
	"github.com/fastmachinelearning/supersonic/internal/sim/fleet"
	"github.com/fastmachinelearning/supersonic/internal/sim/scrape"
)

// prometheusRestarts is the incident in which Prometheus loses its samples.
const prometheusRestarts = "prometheus-restarts"

var incidents = []string{fleet.EnvoyRestarts, fleet.TritonStalls, prometheusRestarts}

// A run is one fleet, scaled by one policy.
type run struct {
	config   *fleet.Config
	models   []Model
	settings *Settings
	world    *fleet.World
	start    time.Duration // of the load; the time before is not counted
	end      time.Duration
	batch    int     // clients that finish; 0 if some never do
	backlog  float64 // requests in flight that end the run; 0 for none

	engine  *scrape.Engine
	store   *scrape.Store
	reads   func(metric string) bool
	targets []*target
	known   int // replicas that have a target, or had one
	phase   *rand.Rand

	scaler   *hpa.Scaler
	sync     time.Duration   // next sync of the HPA
	poll     time.Duration   // next poll of KEDA
	restarts []time.Duration // future restarts of Prometheus
	outcome  *Outcome
	recorder recorder
}

// fixed runs a fleet of a fixed size that is ready at the start. If backlog is not
// 0, the run ends early at that many requests in flight.
func (s *Scenario) fixed(
	ctx context.Context, settings Settings, replicas int, seed uint64, backlog int, progress func(float64),
) (*Outcome, error) {
	c := s.config(settings)
	c.Replicas = replicas
	r := s.newRun(c, &settings, seed)
	r.backlog = float64(backlog)
	err := r.until(ctx, progress)
	return r.finish(), err
}

// scaled runs a fleet that the settings' ScaledObject sizes, to its end or to the backlog.
func (s *Scenario) scaled(ctx context.Context, settings Settings, seed uint64, backlog int, progress func(float64)) (*Outcome, error) {
	r := s.newRun(s.config(settings), &settings, seed)
	r.backlog = float64(backlog)
	reading, err := scrape.Reads(settings.Queries)
	if err != nil {
		return nil, err
	}
	r.reads = func(metric string) bool { return reading.All || reading.Name[metric] }
	r.store = scrape.NewStore(reading.Back + settings.Scrape)
	r.engine = scrape.NewEngine()
	if r.scaler, err = hpa.New(settings.Scaler); err != nil {
		return nil, err
	}
	r.phase = rand.New(rand.NewPCG(seed, 1))
	for i := range max(1, s.Envoys) {
		r.watch(newEnvoyTarget(r.store, r.reads, i))
	}
	for _, it := range s.Incidents {
		if it.What == prometheusRestarts {
			r.restarts = append(r.restarts, r.start+it.At)
		}
	}
	err = r.until(ctx, progress)
	return r.finish(), err
}

func (s *Scenario) newRun(c *fleet.Config, settings *Settings, seed uint64) *run {
	r := &run{
		config: c, models: s.Models, settings: settings, world: fleet.New(c, seed),
		start: s.WarmUp, end: s.WarmUp + s.Duration, outcome: &Outcome{Seed: seed},
	}
	if s.batch() {
		r.batch = s.clients()
	}
	r.recorder = newRecorder(s.WarmUp, s.Duration, s.Settle)
	return r
}

// watch gives a target its phase in the scrape interval, which in Prometheus is a
// hash of its labels.
func (r *run) watch(t *target) {
	interval := r.settings.Scrape
	now := r.world.Now()
	phase := time.Duration(r.phase.Int64N(int64(interval)))
	t.next = now - now%interval + phase
	if t.next < now {
		t.next += interval
	}
	r.targets = append(r.targets, t)
}

// until runs to the end, or until the context is canceled; the result then covers
// the time so far.
func (r *run) until(ctx context.Context, progress func(float64)) error {
	r.sync, r.poll = never, never
	if r.scaler != nil {
		r.sync = r.start + time.Duration(r.phase.Int64N(int64(hpa.SyncPeriod)))
		r.poll = r.start + time.Duration(r.phase.Int64N(int64(r.settings.Scaler.PollingInterval)))
	}
	for r.world.Now() < r.end && !r.done() && ctx.Err() == nil {
		if r.world.Now() <= r.start {
			r.recorder.begin(r.world)
		}
		t := r.next()
		next := min(r.sync, r.poll, r.recorder.next, r.end)
		if r.world.Now() < r.start {
			next = min(next, r.start)
		}
		if t != nil {
			next = min(next, t.next)
		}
		r.world.Run(next)
		if t != nil && t.next == next {
			r.scrape(t)
		}
		if next == r.recorder.next {
			r.recorder.record(r.world)
			progress((next - r.start).Seconds() / (r.end - r.start).Seconds())
			if r.backlog > 0 && r.recorder.inFlight() > r.backlog {
				return nil
			}
		}
		if err := r.look(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// look runs the HPA's sync or KEDA's poll when it is due.
func (r *run) look(ctx context.Context, now time.Duration) error {
	if now == r.sync {
		r.sync += hpa.SyncPeriod
		if err := r.hpaSync(ctx); err != nil {
			return err
		}
	}
	if now == r.poll {
		r.poll += r.settings.Scaler.PollingInterval
		return r.kedaPoll(ctx)
	}
	return nil
}

// never is after every run.
const never = time.Duration(1<<63 - 1)

// done reports whether every client of a batch has finished.
func (r *run) done() bool {
	if r.batch == 0 {
		return false
	}
	done := 0
	for _, s := range r.world.Stats() {
		done += s.Done
	}
	return done == r.batch
}

// next is the target that is scraped next, or nil.
func (r *run) next() *target {
	if r.scaler == nil {
		return nil
	}
	for ; r.known < r.world.Created(); r.known++ {
		r.watch(newReplicaTarget(r.store, r.reads, r.known, r.models))
	}
	first := r.targets[0]
	for _, t := range r.targets[1:] {
		if t.next < first.next {
			first = t
		}
	}
	return first
}

// scrape scrapes a target, or drops it if its pod is gone.
func (r *run) scrape(t *target) {
	now := r.world.Now()
	t.next += r.settings.Scrape
	if t.replica >= 0 && r.world.Gone(t.replica) {
		t.end(now)
		for i := range r.targets {
			if r.targets[i] == t {
				r.targets = append(r.targets[:i], r.targets[i+1:]...)
				break
			}
		}
		r.store.Drop(now)
		return
	}
	if t.envoy >= 0 || r.world.Exporting(t.replica) {
		t.scrape(r.world, len(r.config.Models))
	}
}

// answers queries Prometheus for each trigger.
func (r *run) answers(ctx context.Context) ([]hpa.Answer, error) {
	now := r.world.Now()
	for len(r.restarts) > 0 && r.restarts[0] <= now {
		r.store.Forget()
		r.restarts = r.restarts[1:]
	}
	answers := make([]hpa.Answer, len(r.settings.Queries))
	for i, q := range r.settings.Queries {
		values, err := r.engine.Values(context.WithoutCancel(ctx), r.store, q, now)
		switch {
		case err != nil:
			return nil, fmt.Errorf("query %s: %w", q, err)
		case len(values) == 0:
			answers[i].Empty = true
		case len(values) > 1:
			answers[i].Err = fmt.Errorf("the query answered with %d series", len(values))
		default:
			answers[i].Value = values[0]
		}
	}
	r.outcome.note(answers)
	return answers, nil
}

func (r *run) fleet() hpa.Fleet {
	f := r.world.Fleet()
	return hpa.Fleet{
		Spec:        int32(f.Wanted),
		Status:      int32(f.Pods()),
		Ready:       int32(f.Ready + f.Draining),
		Terminating: int32(f.Draining),
	}
}

func (r *run) hpaSync(ctx context.Context) error {
	answers, err := r.answers(ctx)
	if err != nil {
		return err
	}
	d := r.scaler.Sync(r.world.Now()-r.start, answers, r.fleet())
	if len(d.Metrics) > 0 && d.Metrics[0].Err == nil {
		r.recorder.read(r.world.Now(), float64(d.Metrics[0].Value)/1000)
	}
	r.scale(d.Replicas)
	return nil
}

func (r *run) kedaPoll(ctx context.Context) error {
	answers := make([]hpa.Answer, len(r.settings.Queries))
	if r.scaler.Asks() {
		var err error
		if answers, err = r.answers(ctx); err != nil {
			return err
		}
	}
	r.scale(r.scaler.Poll(r.world.Now()-r.start, answers, r.fleet()))
	return nil
}

func (r *run) scale(to int32) {
	if int(to) == r.world.Fleet().Wanted {
		return
	}
	r.world.Scale(int(to))
	r.recorder.changed(r.world.Now(), int(to))
}
