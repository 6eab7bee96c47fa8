package filter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/test/filter"
)

// fleet is ready from a given time, and counts the probes.
type fleet struct {
	readyMS float64
	probes  int
	header  filter.Header
}

func hold(t *testing.T, s filter.Settings) (*filter.Filter, *fleet) {
	t.Helper()
	source, err := s.With("hold.enabled", true).With("limiter.enabled", false).Source()
	if err != nil {
		t.Fatal(err)
	}
	f, replicas := filter.New(t, source), &fleet{}
	f.Upstream = func(_ string, header filter.Header, body string) (filter.Header, string) {
		replicas.probes++
		replicas.header = header
		if f.NowMS < replicas.readyMS || body != "\x00\x00\x00\x00\x00" {
			return filter.Header{":status": "200", "grpc-status": "14"}, ""
		}
		return filter.Header{":status": "200"}, "\x00\x00\x00\x00\x02\x08\x01"
	}
	return f, replicas
}

func TestHoldUntilAReplicaIsReady(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	started := f.NowMS
	replicas.readyMS = started + 42000
	if refused(t, f) {
		t.Fatalf("refused, counted %v", f.Counted())
	}
	if waited := f.NowMS - started; waited < 42000 || waited > 43100 {
		t.Errorf("released after %v ms, want soon after 42000", waited)
	}
	if replicas.probes > 42*4+10 {
		t.Errorf("%d probes in 42 s, want 4 a second", replicas.probes)
	}
	want := filter.Header{
		":method": "POST", ":path": "/inference.GRPCInferenceService/ServerReady", ":authority": "triton_grpc_service",
		"te": "trailers", "content-type": "application/grpc",
	}
	if diff := cmp.Diff(want, replicas.header); diff != "" {
		t.Errorf("probe (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"outcome.allowed", "outcome.held"}, f.Counted()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestHoldExpires(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t).With("hold.maxSeconds", 20.0))
	started := f.NowMS
	replicas.readyMS = started + 60000
	response, err := f.RepositoryIndex()
	if err != nil {
		t.Fatal(err)
	}
	want := &filter.Response{
		Header: filter.Header{":status": "200", "grpc-status": "14"},
		Body:   "no replica became ready within 20 s",
	}
	if diff := cmp.Diff(want, response); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if waited := f.NowMS - started; waited != 20000 {
		t.Errorf("waited %v ms, want 20000", waited)
	}
}

func TestHoldIsFull(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	replicas.readyMS = f.NowMS + 60000
	f.WaitFull = true
	response, err := f.RepositoryIndex()
	if err != nil {
		t.Fatal(err)
	}
	if response == nil || response.Header["grpc-status"] != "14" || f.Counters["outcome.hold_full"] != 1 {
		t.Errorf("%v, counted %v; want UNAVAILABLE, hold_full", response, f.Counted())
	}
}

// A replica that answers need not be ready.
func TestHoldWaitsUntilServing(t *testing.T) {
	f, _ := hold(t, filter.Defaults(t).With("hold.maxSeconds", 5.0))
	for name, answer := range map[string]string{
		"not-serving": "\x00\x00\x00\x00\x02\x08\x02", "unknown": "\x00\x00\x00\x00\x00", "cut-off": "\x00\x00\x00", "none": "",
	} {
		f.Upstream = func(string, filter.Header, string) (filter.Header, string) {
			return filter.Header{":status": "200"}, answer
		}
		if !refused(t, f) {
			t.Errorf("%s: a call passes", name)
		}
	}
}

// A waiting call keeps its place, and no new call takes it.
func TestHeldCallKeepsItsPlace(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	replicas.readyMS = f.NowMS + 5000
	upstream := f.Upstream
	f.Upstream = func(cluster string, header filter.Header, body string) (filter.Header, string) {
		f.WaitFull = replicas.probes > 2 && replicas.probes < 8 // while the call waits
		return upstream(cluster, header, body)
	}
	if refused(t, f) {
		t.Errorf("refused, counted %v", f.Counted())
	}
	if full := f.Gauges["full_ms"] - f.NowMS; full > 250 || full < -5000 {
		t.Errorf("full for %v ms more, want 250 from the last time", full)
	}
}

// A call waits while its Envoy drains, until shortly before it stops. If a replica becomes ready, the call continues.
func TestHeldCallsEnd(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	started := f.NowMS
	replicas.readyMS = started + 60000
	upstream := f.Upstream
	f.Upstream = func(cluster string, header filter.Header, body string) (filter.Header, string) {
		if f.NowMS >= started+20000 {
			f.Gauges["stopping_ms"] = f.NowMS + 4000
		}
		return upstream(cluster, header, body)
	}
	response, err := f.RepositoryIndex()
	if err != nil {
		t.Fatal(err)
	}
	want := &filter.Response{
		Header: filter.Header{":status": "200", "grpc-status": "14"},
		Body:   "no replica is ready, and this Envoy is shutting down; try again",
	}
	if diff := cmp.Diff(want, response); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if waited := f.NowMS - started; waited < 20000 || waited > 21000 {
		t.Errorf("waited %v ms, want until soon after 20000", waited)
	}
	if f.Counters["outcome.hold_stopped"] != 1 {
		t.Errorf("counted %v, want hold_stopped", f.Counted())
	}
	replicas.readyMS = f.NowMS
	f.NowMS += 1000
	if refused(t, f) {
		t.Errorf("a ready replica: refused, counted %v", f.Counted())
	}
}

func TestFullHoldRefuses(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	replicas.readyMS = f.NowMS + 5000
	f.Gauges["full_ms"] = f.NowMS + 250
	if !refused(t, f) || f.Counters["outcome.hold_full"] != 1 {
		t.Errorf("counted %v, want hold_full", f.Counted())
	}
	f.NowMS += 250
	if refused(t, f) {
		t.Errorf("counted %v, want the next call to wait", f.Counted())
	}
}

// A busy fleet is probed ahead of time, so that none of many calls waits.
func TestHoldCostsABusyFleetNothing(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	refused(t, f)
	for range 100 {
		f.NowMS += 100
		before := f.NowMS
		if refused(t, f) || f.NowMS != before {
			t.Fatalf("refused or held for %v ms", f.NowMS-before)
		}
	}
	if replicas.probes > 41 {
		t.Errorf("%d probes in 10 s, want at most 4 a second", replicas.probes)
	}
}

func TestHoldGuardsOnlyTheMethods(t *testing.T) {
	f, replicas := hold(t, filter.Defaults(t))
	replicas.readyMS = f.NowMS + 60000
	response, err := f.Call(filter.Header{":path": "/inference.GRPCInferenceService/ModelInfer"})
	if err != nil || response != nil || replicas.probes != 0 {
		t.Errorf("%v, %v, %d probes; want the call to pass", response, err, replicas.probes)
	}
}
