package filter_test

import (
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

func TestRefusal(t *testing.T) {
	const path = "/inference.GRPCInferenceService/RepositoryIndex"
	grpc := filter.Header{":status": "200", "grpc-status": "8"}
	plain := filter.Header{":status": "429", "content-type": "text/plain"}
	const message = "overloaded: load 3.25 is above the admission threshold 3, try again later"
	for _, c := range []struct {
		path, contentType string
		want              filter.Header // nil: passes
		body              string
	}{
		{path, "application/grpc", grpc, message},
		{path, "application/grpc+proto", grpc, message},
		{path, "application/grpc;charset=utf-8", grpc, message},
		{path, "application/grpc-web", plain, message + "\n"},
		{path, "application/json", plain, message + "\n"},
		{path, "", plain, message + "\n"},
		{path + "?x=1", "application/grpc", grpc, message},
		{"/inference.GRPCInferenceService/ModelInfer", "application/grpc", nil, ""},
		{"/grpc.health.v1.Health/Check", "application/grpc", nil, ""},
		{"/load", "application/grpc", nil, ""},
		{"/probe", "", nil, ""},
		{"/stop", "", nil, ""},
	} {
		f, p := gate(t, filter.Defaults(t))
		p.load = "3.25"
		f.Tick(t)
		header := filter.Header{":path": c.path}
		if c.contentType != "" {
			header["content-type"] = c.contentType
		}
		response, err := f.Call(header)
		if err != nil {
			t.Fatal(err)
		}
		want := &filter.Response{Header: c.want, Body: c.body}
		if c.want == nil {
			want = nil
		}
		if diff := diffResponse(want, response); diff != "" {
			t.Errorf("%s, %q (-want +got):\n%s", c.path, c.contentType, diff)
		}
	}
}

func TestStatusCodeByValue(t *testing.T) {
	f, p := gate(t, filter.Defaults(t).With("limiter.statusCode", 14.0))
	p.load = "5"
	f.Tick(t)
	response, err := f.RepositoryIndex()
	if err != nil || response == nil || response.Header["grpc-status"] != "14" {
		t.Errorf("%v, %v; want grpc-status 14", response, err)
	}
}

func TestMethodsByValue(t *testing.T) {
	f, p := gate(t, filter.Defaults(t).With("limiter.methods", []any{"/a.B/C", "/inference.GRPCInferenceService/ModelInfer"}))
	p.load = "5"
	f.Tick(t)
	if refused(t, f) {
		t.Error("the index call is guarded though it is not named")
	}
	for _, path := range []string{"/a.B/C", "/inference.GRPCInferenceService/ModelInfer"} {
		if response, err := f.Call(filter.Header{":path": path, "content-type": "application/grpc"}); err != nil || response == nil {
			t.Errorf("%s passes: %v", path, err)
		}
	}
}

// broken returns settings with which the script fails at every guarded call.
func broken(t *testing.T) filter.Settings {
	t.Helper()
	const judge = "local function judge(handle)\n"
	parts, _ := filter.Defaults(t)["parts"].(map[string]any)
	text, _ := parts["filter"].(string)
	if !strings.Contains(text, judge) {
		t.Fatalf("the filter has no %q", judge)
	}
	return filter.Defaults(t).With("parts.filter", strings.Replace(text, judge, judge+"  local broken = nil .. 1\n", 1))
}

// An error of the script is treated like an unknown load, and is logged once a minute.
func TestScriptError(t *testing.T) {
	for _, choice := range []string{"open", "closed", "last"} {
		f, _ := gate(t, broken(t).With("limiter.unknownLoad", choice))
		outcome := "outcome.fault_allowed"
		if choice == "closed" {
			outcome = "outcome.fault_refused"
		}
		for range 5 {
			if got := refused(t, f); got != (choice == "closed") {
				t.Errorf("%s: refused %v", choice, got)
			}
		}
		if f.Counters[outcome] != 5 || len(f.Errors) != 1 {
			t.Errorf("%s: counted %v, logged %q; want 5 of %s and one line", choice, f.Counted(), f.Errors, outcome)
		}
	}
}

// With unknownLoad last, the last load decides if the script fails.
func TestLastLoadAfterError(t *testing.T) {
	for _, c := range []struct {
		load    string
		afterMS float64
		want    string
	}{{"5", 1000, "fault_refused"}, {"1", 1000, "fault_allowed"}, {"5", 61000, "fault_allowed"}} {
		f, p := gate(t, broken(t).With("limiter.unknownLoad", "last"))
		at(t, f, p, c.load)
		f.NowMS += c.afterMS
		if got := refused(t, f); got != (c.want == "fault_refused") || f.Counters["outcome."+c.want] != 1 {
			t.Errorf("load %s, %v ms before: refused %v, counted %v, want %s", c.load, c.afterMS, got, f.Counted(), c.want)
		}
	}
}

// Every counter exists from the first call of any kind.
func TestCountersFromStart(t *testing.T) {
	f, _ := gate(t, filter.Defaults(t))
	if _, err := f.Call(filter.Header{":path": "/grpc.health.v1.Health/Check"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"allowed", "refused", "unknown_allowed", "unknown_refused", "fault_allowed",
		"fault_refused", "held", "hold_expired", "hold_full",
	} {
		if _, ok := f.Counters["outcome."+name]; !ok {
			t.Errorf("outcome %s is not exported", name)
		}
	}
	if len(f.Counted()) != 0 {
		t.Errorf("counted %v", f.Counted())
	}
}
