package promql

import (
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// Clients is N, the mean number of clients: requests in flight, by the gauge, and
// clients that think. Source: Envoy's connections and active requests. Unit:
// clients.
func Clients(p Params) (Query, error) { return compile(p, p.known(add(p.active(), p.idleClients()))) }

// ThinkingClients is Z, the mean number of clients that are connected and have no
// request in flight. Source: Envoy's connections and active requests. Unit:
// clients. Clients that send many requests over one connection count as none.
func ThinkingClients(p Params) (Query, error) { return compile(p, p.known(p.idleClients())) }

// ThinkTime is the mean time that a connected client spends between its requests,
// Z over the requests that arrive. Unit: seconds. It answers with nothing while no
// request arrives.
func ThinkTime(p Params) (Query, error) {
	arriving := binary(parser.GTR, p.arrivals(), number(0))
	return compile(p, p.known(div(p.idleClients(), arriving)))
}

// needed is L / κ for clients that wait, and (L + Z/u) / κ / (1 + Z / (T S)) for
// clients that think.
func (p Params) needed() parser.Expr {
	if p.ThinkTime == 0 {
		return p.load()
	}
	clients := add(p.inFlight(), div(p.arriving(), number(p.Utilization)))
	// Above 0, so that an idle fleet divides by infinity and not by 0/0.
	served := atLeast(p.served(), 1e-9)
	slack := add(number(1), div(served, mul(number(p.Threshold), p.busy())))
	return and(div(div(clients, p.concurrency()), slack), p.covered())
}

// arriving is Z as seen from the requests that arrive.
func (p Params) arriving() parser.Expr {
	if p.ThinkTime == Measured {
		return p.idleClients()
	}
	return mul(number(p.ThinkTime.Seconds()), p.arrivals())
}

// served is Z as seen from the requests that complete: with a given think time, Z/S
// is that time over the service time of a request.
func (p Params) served() parser.Expr {
	if p.ThinkTime == Measured {
		return p.idleClients()
	}
	return mul(number(p.ThinkTime.Seconds()), p.completions())
}

// idleClients is Z by the connections of clients.
func (p Params) idleClients() parser.Expr {
	open := series(connections, p.Envoy.With(listenerLabel, clientListener))
	return atLeast(sub(sum(mean(open, p.RateInterval)), p.active()), 0)
}

func (p Params) arrivals() parser.Expr { return sum(rate(p.envoy(requests), p.RateInterval)) }

// completions is the rate of the requests whose time is counted; unit: requests per
// second.
func (p Params) completions() parser.Expr {
	classic := sum(rate(p.envoy(requestTimeCount), p.RateInterval))
	native := sum(call("histogram_count", rate(p.envoy(requestTime), p.RateInterval)))
	return or(or(classic, native), unless(zero(), p.untimed()))
}

// busy is S in Z/S. If Triton reports almost none of the requests in flight, it is
// their number, up to one for each replica.
//
// Z is read from Envoy and S from Triton, whose scrapes have phases of their own.
// While a crowd moves from waiting to thinking, an S that is a scrape ahead of Z
// would ask for a multiple of the replicas; one that is behind asks for fewer, which
// the HPA's window for scaling down absorbs. So S is older by a quarter of the
// window, which is at least a scrape interval.
func (p Params) busy() parser.Expr {
	const reported = 0.01 // below this share of the minimum, S is ignored
	quarter := (p.RateInterval / 4).Truncate(time.Millisecond)
	least := smaller(p.inFlight(), p.replicas())
	return or(binary(parser.GTR, p.executing(quarter), mul(number(reported), least)), least)
}
