package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/fastmachinelearning/supersonic/promql"
)

// knobs are values of the chart by their keys, such as keda.minReplicaCount.
type knobs map[string]any

// The keys that a recommendation sets.
const (
	threshold     = "serverLoadThreshold"
	thinkTime     = "serverLoadThinkTime"
	inFlight      = "serverLoadInFlight"
	window        = "serverLoadRateInterval"
	minReplicas   = "keda.minReplicaCount"
	maxReplicaKey = "keda.maxReplicaCount"
	stabilization = "keda.scaleDown.stabilizationWindowSeconds"
	stepsize      = "keda.scaleDown.stepsize"
	shrink        = "keda.scaleDown.percent"
)

// A candidate is a policy that is tried.
type candidate struct {
	knobs    knobs
	settings Settings
	fixed    int
	index    int // of its result in the report
	asked    int // seeds that it was run with
}

// key identifies a candidate by all of its values.
func (c *candidate) key(f *searching) string { return f.effective(c.knobs).String() }

// effective are the values of every key that a recommendation sets: the candidate's,
// the scenario's, or the chart's.
func (f *searching) effective(k knobs) knobs {
	all := knobs{}
	for _, key := range []string{threshold, thinkTime, inFlight, window, minReplicas, maxReplicaKey, stabilization, stepsize, shrink} {
		all[key] = f.value(k, key)
	}
	return all
}

func (f *searching) value(k knobs, key string) any {
	if v, ok := k[key]; ok {
		return v
	}
	if v := dig(f.scenario.Values, key); v != nil {
		return v
	}
	return dig(f.Defaults, key)
}

// dig is the value of a dotted key, or nil.
func dig(vals map[string]any, key string) any {
	head, rest, deeper := strings.Cut(key, ".")
	if !deeper {
		return vals[head]
	}
	inner, _ := vals[head].(map[string]any)
	return dig(inner, rest)
}

// nested are the values as a values file has them.
func (k knobs) nested() map[string]any {
	all := map[string]any{}
	for key, value := range k {
		put(all, strings.Split(key, "."), value)
	}
	return all
}

func put(into map[string]any, path []string, value any) {
	if len(path) == 1 {
		into[path[0]] = value
		return
	}
	inner, ok := into[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		into[path[0]] = inner
	}
	put(inner, path[1:], value)
}

// String lists the values by key, as in --set.
func (k knobs) String() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(k)) {
		all = append(all, fmt.Sprintf("%s=%v", key, k[key]))
	}
	return strings.Join(all, " ")
}

// with is a copy with one more value.
func (k knobs) with(key string, value any) knobs {
	c := knobs{key: value}
	for other, v := range k {
		if other != key {
			c[other] = v
		}
	}
	return c
}

// same reports whether two values are written the same in JSON, as 2 and 2.0 are.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && string(x) == string(y)
}

// grid is every threshold with every way to count clients that think.
func (f *searching) grid() (all []knobs) {
	base := knobs{}
	if most, ok := number(f.value(nil, maxReplicaKey)); ok && f.report.Least > most {
		base[maxReplicaKey] = 2 * f.report.Least // no size within the bounds keeps the goal
	}
	for _, think := range f.thinkTimes() {
		for _, t := range []float64{1.05, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3, 4} {
			k := think.with(threshold, t)
			maps.Copy(k, base)
			all = append(all, k)
		}
	}
	return all
}

// thinkTimes are the modes of the law: clients that only wait, counted clients, and
// the scenario's own think time, or the time in which a backlog of requests that wait
// for nobody is worked off.
func (f *searching) thinkTimes() []knobs {
	duration := func(d time.Duration) knobs {
		return knobs{thinkTime: model.Duration(d).String(), inFlight: string(promql.Active)}
	}
	all := []knobs{{thinkTime: "0s"}, {thinkTime: "measured"}}
	var clients, open int
	var think time.Duration
	for _, c := range f.scenario.Clients {
		if c.Count == 0 {
			open++
		}
		clients += c.Count
		think += time.Duration(c.Count) * c.Think
	}
	if think > 0 {
		all = append(all, duration((think / time.Duration(clients)).Round(time.Millisecond)))
	}
	if open > 0 {
		all = append(all, duration(time.Minute))
	}
	return all
}

// neighbors differ from a candidate in one value.
func (f *searching) neighbors(c *candidate) (all []knobs) {
	o := f.runs(c)[0]
	beside := []struct {
		key    string
		values []any
	}{
		{window, []any{"30s", "1m", "2m"}},
		{stabilization, []any{120, 300, 600}},
		{stepsize, []any{1, 2, 4}},
		{shrink, []any{10, 25, 50}},
		{minReplicas, []any{1, o.SteadyMin, o.Rest}},
		{maxReplicaKey, []any{o.Rest, o.SteadyMax}},
	}
	if t, ok := c.knobs[threshold].(float64); ok { // less and more of what it allows beyond the service time
		for _, share := range []float64{0.75, 0.9, 1.1, 1.25} {
			all = append(all, c.knobs.with(threshold, math.Round(100*(1+share*(t-1)))/100))
		}
	}
	for _, d := range beside {
		for _, v := range d.values {
			if !same(v, f.value(c.knobs, d.key)) {
				all = append(all, c.knobs.with(d.key, v))
			}
		}
	}
	return all
}

// number is a whole number of a values file.
func number(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	}
	return 0, false
}
