package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A known policy has a name of its own in scenarios.
type known struct {
	Name, About string
	values      func() (map[string]any, error)
	named       bool // compared only if a scenario names it
}

var knownPolicies = []known{
	{
		Name: "queue-latency", About: "the metric of SuperSONIC 0.3.1: queue time per executed batch, held at 100 ms with metricType Value",
		values: queueLatency,
	},
	{
		Name: "written-form", About: "the built-in metric with the last number of replicas, not its mean",
		values: func() (map[string]any, error) {
			return map[string]any{"serverLoadReplicas": string(promql.Instant)}, nil
		},
	},
	{Name: "built-in", About: "the built-in metric, with the scenario's values", values: func() (map[string]any, error) { return nil, nil }},
	{
		Name: "measured", About: "the built-in metric with the clients that think counted by their connections",
		values: func() (map[string]any, error) { return map[string]any{"serverLoadThinkTime": "measured"}, nil },
	},
	{
		Name: "think-60s", About: "the built-in metric with a think time of 60 s, for requests that wait for nobody",
		values: func() (map[string]any, error) {
			return map[string]any{"serverLoadThinkTime": "60s", "serverLoadInFlight": string(promql.Active)}, nil
		},
	},
	{
		Name: "concurrency-target", About: "2 requests in flight for each replica, over a mean of 1 m, as Knative counts",
		values: concurrencyTarget,
	},
	{Name: "value-target", About: "the occupancy ratio with metricType Value; not compared unless named", values: valueTarget, named: true},
}

// queueLatency is what the chart did in 0.3.1.
func queueLatency() (map[string]any, error) {
	p := promql.ForRelease(Release, Namespace)
	p.RateInterval = 30 * time.Second
	q, err := promql.QueueLatency(p)
	return map[string]any{
		"serverLoadMetric":    q.String(),
		"serverLoadThreshold": 100,
		"keda":                map[string]any{"metricType": "Value"},
	}, err
}

// concurrencyTarget is the mean of a minute, Knative's stable window. Its target is
// equivalent to the built-in threshold for a replica that executes one request at
// a time.
func concurrencyTarget() (map[string]any, error) {
	gauge := "sum(avg_over_time(envoy_cluster_upstream_rq_active{" + promql.ForRelease(Release, Namespace).Envoy.String() + "}[1m]))"
	return map[string]any{"serverLoadMetric": gauge, "serverLoadThreshold": promql.DefaultScaling}, nil
}

// valueTarget is the built-in metric of each replica, as a metric of the user's own.
func valueTarget() (map[string]any, error) {
	q, err := promql.OccupancyRatio(promql.ForRelease(Release, Namespace))
	return map[string]any{
		"serverLoadMetric":    q.String(),
		"serverLoadThreshold": promql.DefaultScaling,
		"keda":                map[string]any{"metricType": "Value"},
	}, err
}

// KnownPolicies are the policies that a scenario may name without values: name and
// description.
func KnownPolicies() [][2]string {
	var all [][2]string
	for _, k := range knownPolicies {
		all = append(all, [2]string{k.Name, k.About})
	}
	return all
}

func knownPolicy(name string) (known, bool) {
	i := slices.IndexFunc(knownPolicies, func(k known) bool { return k.Name == name })
	if i < 0 {
		return known{}, false
	}
	return knownPolicies[i], true
}

// policies are the scenario's, or all known policies.
func (s *Scenario) policies() []Policy {
	if len(s.Policies) > 0 {
		return s.Policies
	}
	var all []Policy
	for _, k := range knownPolicies {
		if !k.named {
			all = append(all, Policy{Name: k.Name})
		}
	}
	return all
}

// chosen returns the policies of the given names, of the scenario or known ones.
// Without names it returns all of the scenario's.
func (s *Scenario) chosen(names []string) ([]Policy, error) {
	if len(names) == 0 {
		return s.policies(), nil
	}
	var all []Policy
	var errs []error
	for _, name := range names {
		policies := s.policies()
		i := slices.IndexFunc(policies, func(p Policy) bool { return p.Name == name })
		if _, ok := knownPolicy(name); i < 0 && !ok {
			errs = append(errs, fmt.Errorf("no policy %q in %s, and none of that name is built in", name, s.Name))
			continue
		} else if i < 0 {
			policies, i = []Policy{{Name: name}}, 0
		}
		all = append(all, policies[i])
	}
	return all, errors.Join(errs...)
}

// values are the chart's values for a policy: those of the policy over those of
// the scenario over those that a simulation needs.
func (s *Scenario) values(p Policy) (map[string]any, error) {
	vals := map[string]any{
		"keda":       map[string]any{"enabled": true},
		"prometheus": map[string]any{"enabled": true},
	}
	lay(vals, s.Values)
	if k, ok := knownPolicy(p.Name); ok {
		own, err := k.values()
		if err != nil {
			return nil, err
		}
		lay(vals, own)
	}
	lay(vals, p.Values)
	return vals, nil
}

// lay merges values over others as Helm does: objects are merged, anything else is
// replaced.
func lay(under, over map[string]any) {
	for key, value := range over {
		object, ok := value.(map[string]any)
		if !ok {
			under[key] = value
			continue
		}
		merged := map[string]any{}
		if below, ok := under[key].(map[string]any); ok {
			lay(merged, below)
		}
		lay(merged, object)
		under[key] = merged
	}
}
