package load

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// serve answers ModelInfer with what answer returns for the model's name.
func serve(t *testing.T, answer func(model string) ([]byte, error), options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(append(options, grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			model, err := field(request, 1)
			if err != nil {
				return err
			}
			output, err := answer(string(model))
			if err != nil {
				return err
			}
			reply := protowire.AppendTag(nil, 6, protowire.BytesType)
			reply = protowire.AppendBytes(reply, output)
			return stream.SendMsg(&reply)
		}))...)
	go server.Serve(listener) //nolint:errcheck // ends with Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestEveryCallIsCounted(t *testing.T) {
	address := serve(t, func(model string) ([]byte, error) {
		switch model {
		case "wrong":
			return []byte{1}, nil
		case "refused":
			return nil, status.Error(codes.ResourceExhausted, "too much")
		}
		return input, nil
	})
	for _, test := range []struct{ model, code string }{
		{"fast", "OK"}, {"refused", "ResourceExhausted"}, {"wrong", "Unknown"},
	} {
		t.Run(test.model, func(t *testing.T) {
			run, err := Clients{Address: address, Models: []string{test.model}, Number: 3}.Start()
			if err != nil {
				t.Fatal(err)
			}
			for len(run.SoFar().Calls) < 3 {
				time.Sleep(time.Millisecond)
			}
			result := run.Stop()
			if got := result.Calls[0].Code; got != test.code {
				t.Errorf("code of a call to %s = %s, want %s", test.model, got, test.code)
			}
			if ok := test.code == "OK"; ok != (len(result.Failed()) == 0) || ok != (result.Completed() > 0) {
				t.Errorf("%d completed and %d failed calls to %s", result.Completed(), len(result.Failed()), test.model)
			}
		})
	}
}

func TestCallsEndBeforeStopReturns(t *testing.T) {
	begun := make(chan struct{}, 1000)
	address := serve(t, func(string) ([]byte, error) {
		begun <- struct{}{}
		time.Sleep(100 * time.Millisecond)
		return input, nil
	})
	run, err := Clients{Address: address, Models: []string{"slow"}, Number: 1}.Start()
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	result := run.Stop()
	if seen := 1 + len(begun); result.Completed() != seen {
		t.Errorf("the replica saw %d calls, the client %s", seen, result)
	}
}

func TestDeadlineIsAFailedCall(t *testing.T) {
	address := serve(t, func(string) ([]byte, error) { time.Sleep(300 * time.Millisecond); return input, nil })
	client, err := Dial(address, "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got := status.Code(client.Infer(ctx, "slow")); got != codes.DeadlineExceeded {
		t.Errorf("code = %s, want DeadlineExceeded", got)
	}
}

func TestNumbersOfAResult(t *testing.T) {
	second := time.Second
	r := Result{Lasted: 10 * second, Calls: []Call{
		{Model: "fast", At: 0, Took: second},
		{Model: "fast", At: 0, Took: 3 * second},
		{Model: "slow", At: 2 * second, Took: 4 * second, Err: "gone"},
	}}
	got := map[string]any{
		"completed": r.Completed(), "failed": len(r.Failed()), "median": r.Quantile(0.5), "most": r.Quantile(1),
		"in-flight": r.InFlight(0, 4*second), "slow": len(r.Of("slow").Calls), "early": len(r.Between(0, 2*second).Calls),
	}
	want := map[string]any{
		"completed": 2, "failed": 1, "median": 3 * second, "most": 3 * second,
		"in-flight": 1.5, "slow": 1, "early": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result mismatch (-want +got):\n%s", diff)
	}
}

// Clients that think for 90 ms between calls of 10 ms are in a call for a tenth of the time.
func TestClientsThink(t *testing.T) {
	address := serve(t, func(string) ([]byte, error) { time.Sleep(10 * time.Millisecond); return input, nil })
	run, err := Clients{Address: address, Models: []string{"fast"}, Number: 20, Think: 90 * time.Millisecond, Seed: 1}.Start()
	if err != nil {
		t.Fatal(err)
	}
	for len(run.SoFar().Calls) < 400 {
		time.Sleep(time.Millisecond)
	}
	result := run.Stop()
	if got := result.InFlight(0, result.Lasted); len(result.Failed()) > 0 || got < 1 || got > 4 {
		t.Errorf("%.2f of 20 clients in a call, want about 2: %s", got, result)
	}
}

// Clients that are away as long as they stay: about half are connected.
func TestClientsJoinAndLeave(t *testing.T) {
	var connections atomic.Int64
	address := serve(t, func(string) ([]byte, error) { return input, nil }, grpc.StatsHandler(counter{&connections}))
	run, err := Clients{
		Address: address, Models: []string{"fast"}, Number: 40,
		Think: time.Millisecond, Stay: 20 * time.Millisecond, Away: 20 * time.Millisecond, Seed: 1,
	}.Start()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[bool]int{}
	for seen[true]+seen[false] < 500 {
		time.Sleep(time.Millisecond)
		n := connections.Load()
		seen[n > 5 && n < 35]++
	}
	if result := run.Stop(); len(result.Failed()) > 0 || seen[false] > seen[true] {
		t.Errorf("connections of 40 clients that stay half of the time: 6 to 34 at %d moments, others at %d: %s", seen[true], seen[false], result)
	}
}

// A counter of open connections.
type counter struct{ open *atomic.Int64 }

func (counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (counter) HandleRPC(context.Context, stats.RPCStats)                         {}
func (counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c counter) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.open.Add(1)
	case *stats.ConnEnd:
		c.open.Add(-1)
	}
}

func TestArrivalsDoNotWait(t *testing.T) {
	address := serve(t, func(string) ([]byte, error) { time.Sleep(200 * time.Millisecond); return input, nil })
	run, err := Arrivals{Address: address, Models: []string{"slow"}, Rate: 200, Seed: 1}.Start()
	if err != nil {
		t.Fatal(err)
	}
	for len(run.SoFar().Calls) < 40 {
		time.Sleep(time.Millisecond)
	}
	result := run.Stop()
	if len(result.Failed()) > 0 {
		t.Errorf("calls failed: %s", result)
	}
	if most := result.InFlight(200*time.Millisecond, 300*time.Millisecond); most < 10 {
		t.Errorf("%.1f calls in flight at 200 a second of 0.2 s each, want about 40", most)
	}
}
