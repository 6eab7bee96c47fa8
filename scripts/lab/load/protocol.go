// Package load calls models as Triton's own clients do, over gRPC, and counts
// every call.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

const service = "/inference.GRPCInferenceService/"

// raw passes messages as encoded bytes.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

func (raw) Name() string { return "proto" }

// A Client is one connection to a replica or a proxy.
type Client struct{ conn *grpc.ClientConn }

// A Token is sent with every call, unless it is empty.
type Token string

// GetRequestMetadata is grpc's.
func (t Token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if t == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity is grpc's. The lab's clients use no TLS.
func (Token) RequireTransportSecurity() bool { return false }

// Dial makes a client of host:port, which connects with its first call.
func Dial(address string, token Token) (*Client, error) {
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(token),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &Client{conn}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

func (c *Client) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	var reply []byte
	err := c.conn.Invoke(ctx, service+method, &message, &reply)
	return reply, err
}

// input is four 32-bit floats: 1, 2, 3 and 4.
var input = []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}

// inferRequest is a ModelInferRequest of the KServe protocol, version 2.
func inferRequest(model string) []byte {
	var tensor []byte
	tensor = protowire.AppendTag(tensor, 1, protowire.BytesType)
	tensor = protowire.AppendString(tensor, "INPUT0")
	tensor = protowire.AppendTag(tensor, 2, protowire.BytesType)
	tensor = protowire.AppendString(tensor, "FP32")
	tensor = protowire.AppendTag(tensor, 3, protowire.BytesType)
	tensor = protowire.AppendBytes(tensor, []byte{1, 4}) // the shape, packed
	var out []byte
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	out = protowire.AppendString(out, model)
	out = protowire.AppendTag(out, 5, protowire.BytesType)
	out = protowire.AppendBytes(out, tensor)
	out = protowire.AppendTag(out, 7, protowire.BytesType)
	return protowire.AppendBytes(out, input)
}

// Infer calls one of the lab's models, which return their input, and checks the answer.
func (c *Client) Infer(ctx context.Context, model string) error {
	reply, err := c.call(ctx, "ModelInfer", inferRequest(model))
	if err != nil {
		return err
	}
	output, err := field(reply, 6) // raw_output_contents
	if err != nil {
		return err
	}
	if !bytes.Equal(output, input) {
		return fmt.Errorf("model %s: answered %x to %x", model, output, input)
	}
	return nil
}

// Ready reports whether a replica is ready.
func (c *Client) Ready(ctx context.Context) error {
	reply, err := c.call(ctx, "ServerReady", nil)
	if err != nil {
		return err
	}
	if !bytes.Equal(reply, []byte{1<<3 | byte(protowire.VarintType), 1}) {
		return errors.New("the replica is not ready")
	}
	return nil
}

// Index lists the models, which is the first call of a batch job.
func (c *Client) Index(ctx context.Context) error {
	_, err := c.call(ctx, "RepositoryIndex", nil)
	return err
}

// field is the first length-delimited field of a message with that number.
func field(message []byte, number protowire.Number) ([]byte, error) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		message = message[size:]
		if n == number && kind == protowire.BytesType {
			value, size := protowire.ConsumeBytes(message)
			if size < 0 {
				return nil, protowire.ParseError(size)
			}
			return value, nil
		}
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return nil, protowire.ParseError(size)
		}
		message = message[size:]
	}
	return nil, fmt.Errorf("no field %d in the answer", number)
}
