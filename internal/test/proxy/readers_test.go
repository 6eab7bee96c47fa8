package proxy

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

const (
	answerBytes  = 16 << 20
	streamWindow = 4 << 20 // envoy.http2.streamWindowBytes
)

// A client that reads its answers slowly or never does not delay the calls of others, although they share a connection to
// the replica.
func TestUnreadAnswersDelayNobody(t *testing.T) {
	for _, c := range []struct {
		name   string
		reader reader
	}{
		{"no-stream-window", reader{calls: 4, window: 0}},
		{"no-connection-window", reader{calls: 4, window: 16 << 20}},
		{"slow", reader{calls: 1, window: 65535, grant: 13 << 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, envoy.ProxyOptions{Workers: 1})
			p.infer(t, codes.OK)
			p.Triton.SetReplySize(envoy.ModelInfer, answerBytes)
			const readers = 6
			for range readers {
				c.reader.run(t, p.Addr(t, "listener_grpc"))
			}
			calls := readers * c.reader.calls
			received := func() float64 {
				return p.Value(t, "envoy_cluster_upstream_cx_rx_bytes_total", "envoy_cluster_name", "triton_grpc_service")
			}
			envoy.Await(t, settle, "answers of four stream windows", func() bool { return received() >= 4*streamWindow-65535 })
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				r := p.Client.Call(ctx, envoy.RepositoryIndex, nil)
				cancel()
				if r.Code != codes.OK {
					t.Fatalf("another client's call: %v %s after %s", r.Code, r.Message, r.Took)
				}
			}
			// Triton may fill one window, and Envoy may have read another one that it cannot send.
			if got, most := received(), float64(calls)*(2*streamWindow+1<<20); c.reader.grant == 0 && got > most {
				t.Errorf("%d unread answers: Envoy took %.0f bytes, want at most %.0f", calls, got, most)
			}
		})
	}
}

// reader makes inference calls on one connection, and limits their answers with its flow-control windows.
type reader struct {
	calls  int
	window uint32 // of each stream; that of the connection is HTTP/2's default, 65,535
	grant  uint32 // bytes by which the windows grow every 100 ms, until the test ends
}

func (r reader) run(t testing.TB, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: r.window}); err != nil {
		t.Fatal(err)
	}
	for i := range r.calls {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for _, field := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":path", envoy.ModelInfer},
			{":authority", "sonic"},
			{"content-type", "application/grpc"},
			{"te", "trailers"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
				t.Fatal(err)
			}
		}
		stream := uint32(2*i + 1)
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		if err := framer.WriteData(stream, true, make([]byte, 5)); err != nil { // an empty message
			t.Fatal(err)
		}
	}
	go r.read(conn, framer)
}

// read reads everything until the connection is closed.
func (r reader) read(conn net.Conn, framer *http2.Framer) {
	if r.grant > 0 {
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				if framer.WriteWindowUpdate(0, r.grant) != nil || framer.WriteWindowUpdate(1, r.grant) != nil {
					return
				}
			}
		}()
	}
	buffer := make([]byte, 64<<10)
	for {
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
}
