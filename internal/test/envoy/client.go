package envoy

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that RawCodec falls back to
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Client is a gRPC client on one connection.
type Client struct{ conn *grpc.ClientConn }

// Reply is what a client sees of a call.
type Reply struct {
	Code    codes.Code
	Message string
	Header  metadata.MD
	Trailer metadata.MD
	Body    []byte // the encoded message
	Took    time.Duration
}

// Dial returns a client of the address; it connects with its first call. Options are added to those of the package.
func Dial(t testing.TB, addr string, options ...grpc.DialOption) *Client {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(RawCodec{}), grpc.MaxCallRecvMsgSize(largestMessage)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Client{conn}
}

// Call makes one call with an encoded message, where nil is the empty message. Header fields (key, value …) are added to
// the request.
func (c *Client) Call(ctx context.Context, method string, message []byte, header ...string) Reply {
	if len(header) > 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, header...)
	}
	var r Reply
	start := time.Now()
	err := c.conn.Invoke(ctx, method, &message, &r.Body, grpc.Header(&r.Header), grpc.Trailer(&r.Trailer))
	r.Took = time.Since(start)
	r.Code, r.Message = status.Code(err), status.Convert(err).Message()
	return r
}

// RawCodec passes on messages of type *[]byte, which are already encoded, and encodes others as protobuf.
type RawCodec struct{}

func (RawCodec) Name() string { return "proto" }

func (RawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.(*[]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(*raw)}, nil
	}
	return protoCodec().Marshal(v)
}

func (RawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*[]byte); ok {
		*raw = data.Materialize()
		return nil
	}
	return protoCodec().Unmarshal(data, v)
}

func protoCodec() encoding.CodecV2 { return encoding.GetCodecV2("proto") }
