package filter_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// FuzzAnswer checks that the filter never fails on a body, and reads the same load as Go's JSON decoder.
func FuzzAnswer(f *testing.F) {
	for _, a := range filter.Answers(f) {
		if len(a.Body) < 10000 {
			f.Add(a.Body)
		}
	}
	source, err := filter.Defaults(f).Source()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		gate := filter.New(t, source)
		gate.Upstream = func(string, filter.Header, string) (filter.Header, string) {
			return filter.Header{":status": "200"}, body
		}
		gate.Tick(t)
		if gate.Counters["answer.fault"] != 0 {
			t.Fatalf("the gate fails on %q", body)
		}
		want, known := goLoad(body)
		if got := gate.Counters["answer.load"] == 1; got != known {
			t.Fatalf("%q: known %v, want %v", body, got, known)
		}
		if known && math.Abs(gate.Gauges["load_milli"]-want*1000) > 1 && want < 1e12 {
			t.Errorf("%q: load_milli %v, want %v", body, gate.Gauges["load_milli"], want*1000)
		}
	})
}

var decimal = regexp.MustCompile(`^[+-]?\d+\.?\d*([eE][+-]?\d+)?$`)

// goLoad returns the load in an answer, at least 0.
func goLoad(body string) (load float64, known bool) {
	if len(body) > 65536 || depth(body) > 32 {
		return 0, false
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer["status"] != "success" {
		return 0, false
	}
	data, _ := answer["data"].(map[string]any)
	var sample any = data["result"]
	if data["resultType"] == "vector" {
		series, _ := data["result"].([]any)
		if len(series) != 1 {
			return 0, false
		}
		only, _ := series[0].(map[string]any)
		sample = only["value"]
	} else if data["resultType"] != "scalar" {
		return 0, false
	}
	pair, _ := sample.([]any)
	if len(pair) < 2 {
		return 0, false
	}
	text, _ := pair[1].(string)
	if !decimal.MatchString(text) {
		return 0, false
	}
	load, err := strconv.ParseFloat(text, 64)
	return max(load, 0), err == nil
}

// depth returns the nesting depth of brackets outside strings.
func depth(body string) (deepest int) {
	now, quoted, escaped := 0, false, false
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}
