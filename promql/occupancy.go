package promql

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// NeededReplicas is the number of replicas that the requests in flight need,
// L / κ: in flight, over what one replica serves at once. Unit: replicas. It does
// not depend on how many of them run, so KEDA takes it with metricType
// AverageValue.
func NeededReplicas(p Params) (Query, error) { return compile(p, p.needed()) }

// OccupancyRatio is [NeededReplicas] for each healthy replica, L / κ / R'. Unit: 1.
func OccupancyRatio(p Params) (Query, error) { return compile(p, div(p.needed(), p.replicas())) }

// needed is L / κ.
func (p Params) needed() parser.Expr { return div(p.inFlight(), p.concurrency()) }

// concurrency is κ, the requests that one replica serves at once: S / R', and at
// least the one that a replica can always serve.
func (p Params) concurrency() parser.Expr {
	return atLeast(div(orZero(p.serving()), p.replicas()), 1)
}

// replicas is R', the healthy replicas, and at least the one that the first
// request needs.
func (p Params) replicas() parser.Expr { return atLeast(p.healthy(), 1) }

// inFlight is L; zero where Envoy has completed nothing yet.
func (p Params) inFlight() parser.Expr {
	if p.InFlight == Completed {
		return orZero(p.completed())
	}
	return larger(p.completed(), orZero(p.active()))
}

// completed is L by the time of the requests that ended; empty where none has.
func (p Params) completed() parser.Expr {
	return div(sum(rate(p.envoy(requestTimeSum), p.RateInterval)), number(millisecondsPerSecond))
}

// active is L by the gauge of requests that have not ended.
func (p Params) active() parser.Expr { return sum(mean(p.envoy(requestsActive), p.RateInterval)) }

// serving is S; empty where no Triton is scraped.
func (p Params) serving() parser.Expr {
	executing := sub(sum(rate(p.triton(requestDuration), p.RateInterval)), sum(rate(p.triton(queueDuration), p.RateInterval)))
	return div(executing, number(microsecondsPerSecond))
}

// healthy is the largest number that an Envoy reports, since all report the
// same cluster; empty where no Envoy is scraped.
func (p Params) healthy() parser.Expr {
	members := p.envoy(membershipHealthy)
	if p.Replicas == Instant {
		return maxOf(members)
	}
	return maxOf(mean(members, p.RateInterval))
}

func (p Params) envoy(name string) parser.Expr {
	return series(name, p.Envoy.With(clusterLabel, tritonCluster))
}

func (p Params) triton(name string) parser.Expr {
	s := p.Triton
	for _, model := range p.ExcludeModels {
		s = s.with(labels.MatchNotEqual, modelLabel, model)
	}
	return series(name, s)
}
