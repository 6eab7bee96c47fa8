package promql

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// NeededReplicas is the number of replicas that the requests in flight need,
// L × R / max(S, R). Unit: replicas. It does not depend on how many of them run,
// so KEDA takes it with metricType AverageValue.
func NeededReplicas(p Params) (Query, error) {
	return compile(p, div(mul(p.inFlight(), p.replicas()), p.busy()))
}

// OccupancyRatio is the work in flight for each request that the fleet can
// serve at once, L / max(S, R): [NeededReplicas] for each replica. Unit: 1.
func OccupancyRatio(p Params) (Query, error) {
	return compile(p, div(p.inFlight(), p.busy()))
}

// inFlight is L; zero where Envoy has completed nothing yet.
func (p Params) inFlight() parser.Expr {
	completed := div(sum(rate(p.envoy(requestTimeSum), p.RateInterval)), number(millisecondsPerSecond))
	if p.InFlight == Completed {
		return orZero(completed)
	}
	return larger(completed, orZero(sum(mean(p.envoy(requestsActive), p.RateInterval))))
}

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

// replicas is R: healthy, and at least the one that the first request needs.
func (p Params) replicas() parser.Expr { return atLeast(p.healthy(), 1) }

// busy is what the fleet serves at once: at least one request a replica.
func (p Params) busy() parser.Expr { return larger(p.serving(), p.replicas()) }

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
