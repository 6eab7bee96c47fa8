package promql

import "github.com/prometheus/prometheus/promql/parser"

// Terms are the expressions that the queries are composed of, each one part of
// those after it. They promise less than a query: a term may answer although Envoy
// is gone.
func Terms() []Named {
	return []Named{
		term("untimed", "series", "A series where responses came and their time is missing", Params.untimed),
		term("completed", "requests", "L by the time of completed requests; empty where it is missing", Params.completed),
		term("active", "requests", "L by the gauge of active requests; empty where Envoy is not scraped", Params.active),
		term("in-flight", "requests", "L, requests in flight; empty where it is not known", Params.inFlight),
		term("serving", "requests", "S, requests that Triton executes; empty where it is not known", Params.serving),
		term("healthy-replicas", "replicas", "R, healthy replicas; empty where Envoy is not scraped", Params.healthy),
		term("covered", "series", "A series where Envoy was scraped in the window before", Params.covered),
		term("concurrency", "requests", "κ, requests that one replica serves at once, at least 1", Params.concurrency),
		term("load", "replicas", "L / κ, replicas that the requests in flight need", Params.load),
		term("idle-clients", "clients", "Z by the connections of clients; empty where Envoy is not scraped", Params.idleClients),
		term("arrivals", "requests per second", "Requests that arrive at Envoy for Triton", Params.arrivals),
		term("completions", "requests per second", "Requests whose time is counted", Params.completions),
		term("busy", "requests", "S of a quarter of the window ago, or what the fleet serves at least where it is not reported", Params.busy),
	}
}

func term(name, unit, summary string, build func(Params) parser.Expr) Named {
	return Named{Name: name, Unit: unit, Summary: summary, Build: func(p Params) (Query, error) { return compile(p, build(p)) }}
}
