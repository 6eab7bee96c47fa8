package promql

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// NeededReplicas is the number of replicas that the clients need, times the
// scaling threshold, so that KEDA takes it with metricType AverageValue. Unit:
// replicas. It does not depend on how many of them run.
//
// For clients that do nothing but wait it is L / κ: in flight, over what one
// replica serves at once. With a think time it is
//
//	(L + Z/u) / κ / (1 + Z / (T S))
//
// where Z clients think, u is the utilization and T the scaling threshold.
func NeededReplicas(p Params) (Query, error) { return compile(p, p.needed()) }

// OccupancyRatio is L / κ for each healthy replica, whatever the clients do
// between their requests. Unit: 1.
func OccupancyRatio(p Params) (Query, error) { return compile(p, div(p.load(), p.replicas())) }

// load is L / κ, the replicas that the requests in flight need. It has no answer
// before Envoy has been scraped for the whole window: the terms would cover
// different parts of it.
func (p Params) load() parser.Expr { return and(div(p.inFlight(), p.concurrency()), p.covered()) }

// covered has a series if Envoy was scraped in the window before this one.
func (p Params) covered() parser.Expr {
	before := series(membershipHealthy, p.Envoy.With(clusterLabel, tritonCluster))
	before.OriginalOffset = p.RateInterval
	return count(call("present_over_time", over(before, p.RateInterval)))
}

// concurrency is κ, the requests that one replica serves at once: S / R', and at
// least 1, since a replica can always serve one.
func (p Params) concurrency() parser.Expr {
	return atLeast(div(p.serving(), p.replicas()), 1)
}

// replicas is R', the healthy replicas, and at least 1, which the first request
// needs.
func (p Params) replicas() parser.Expr { return atLeast(p.healthy(), 1) }

// inFlight is L; empty if it is unknown.
func (p Params) inFlight() parser.Expr {
	switch p.InFlight {
	case Completed:
		return p.completed()
	case Active:
		return p.active()
	default:
		return larger(p.active(), p.completed())
	}
}

// completed is L from the time of completed requests, in a classic or a native
// histogram. It is zero if none completed, and empty if some did and their time is
// missing.
func (p Params) completed() parser.Expr {
	classic := sum(rate(p.envoy(requestTimeSum), p.RateInterval))
	native := sum(call("histogram_sum", rate(p.envoy(requestTime), p.RateInterval)))
	return or(div(or(classic, native), number(millisecondsPerSecond)), unless(zero(), p.untimed()))
}

// untimed has a series if there were responses in the window but no series with
// their time. The time of the first response appears with Envoy's next flush.
func (p Params) untimed() parser.Expr {
	came := series(responses, p.Envoy.With(clusterLabel, tritonCluster).With(classLabel, "2"))
	return unless(p.grew(came), count(p.envoy(requestTimeSum)))
}

// active is L from the gauge of active requests; empty if no Envoy is scraped.
func (p Params) active() parser.Expr { return sum(mean(p.envoy(requestsActive), p.RateInterval)) }

// serving is S. It is zero if no Triton is scraped or none has served a request, and
// empty if requests were counted and their time is missing.
func (p Params) serving() parser.Expr {
	return or(p.executing(0), unless(zero(), p.grew(p.triton(successes))))
}

// executing is S from Triton's durations, as it was some time ago; empty if there are
// none.
func (p Params) executing(ago time.Duration) parser.Expr {
	then := func(name string) parser.Expr {
		s := p.triton(name)
		s.OriginalOffset = ago
		return s
	}
	taken := sub(sum(rate(then(requestDuration), p.RateInterval)), sum(rate(then(queueDuration), p.RateInterval)))
	return div(taken, number(microsecondsPerSecond))
}

// healthy is the largest number that an Envoy reports, because all report the same
// replicas; empty if no Envoy is scraped.
func (p Params) healthy() parser.Expr {
	members := p.envoy(membershipHealthy)
	if p.Replicas == Instant {
		return maxOf(members)
	}
	return maxOf(mean(members, p.RateInterval))
}

// grew has a series if a counter grew in the window.
func (p Params) grew(counter parser.Expr) parser.Expr {
	return count(binary(parser.GTR, call("increase", over(counter, p.RateInterval)), number(0)))
}

func (p Params) envoy(name string) parser.Expr {
	return series(name, p.Envoy.With(clusterLabel, tritonCluster))
}

func (p Params) triton(name string) *parser.VectorSelector {
	s := p.Triton
	for _, model := range p.ExcludeModels {
		s = s.with(labels.MatchNotEqual, modelLabel, model)
	}
	return series(name, s)
}
