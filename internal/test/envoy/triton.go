package envoy

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fastmachinelearning/supersonic/internal/test/ports"
)

// The methods of Triton's inference service that the stub implements.
const (
	RepositoryIndex = "/inference.GRPCInferenceService/RepositoryIndex"
	ModelInfer      = "/inference.GRPCInferenceService/ModelInfer"
	ServerLive      = "/inference.GRPCInferenceService/ServerLive"
	ServerMetadata  = "/inference.GRPCInferenceService/ServerMetadata"
	ServerReady     = "/inference.GRPCInferenceService/ServerReady"
	HealthCheck     = "/grpc.health.v1.Health/Check"
)

// Model is the name of the only model of the stub.
const Model = "identity"

const largestMessage = 64 << 20 // bytes

// Triton is a stub of a replica. It answers index, metadata, inference and health calls, and counts them.
type Triton struct {
	Addr string // host:port, the same when it comes back

	mu     sync.Mutex
	calls  map[string]int
	header map[string]metadata.MD // of the last call, by method
	checks int                    // Envoy's own
	delay  time.Duration
	delays map[string]time.Duration // by method, instead of delay
	sizes  map[string]int           // bytes of an answer by method, instead of the usual answer
	open   chan struct{}            // closed by Release
	server *grpc.Server
	health *health.Server
	state  healthpb.HealthCheckResponse_ServingStatus
	old    bool // without grpc.health.v1
}

// StartTriton runs a stub that is ready.
func StartTriton(t testing.TB) *Triton {
	t.Helper()
	return StartTritonAt(t, ports.Loopback(t))
}

// StartTritonAt runs a stub that is ready at an address of loopback.
func StartTritonAt(t testing.TB, addr string) *Triton {
	t.Helper()
	s := &Triton{
		Addr: addr, calls: map[string]int{}, header: map[string]metadata.MD{}, delays: map[string]time.Duration{},
		sizes: map[string]int{},
		open:  make(chan struct{}), state: healthpb.HealthCheckResponse_SERVING,
	}
	s.Up(t)
	t.Cleanup(s.Down)
	return s
}

// SetDelay sets the time that later inference and index calls take.
func (s *Triton) SetDelay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// SetDelayOf sets the time that later calls of one method take.
func (s *Triton) SetDelayOf(method string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delays[method] = d
}

// SetReplySize sets the size in bytes of later answers of one method, which then have no meaning.
func (s *Triton) SetReplySize(method string, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[method] = bytes
}

// Release ends all delays, now and later.
func (s *Triton) Release() { close(s.open) }

// SetServing sets whether the replica reports that it is ready, also when it is up again.
func (s *Triton) SetServing(serving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		s.state = healthpb.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", s.state)
}

// SetHealthService sets whether the replica has grpc.health.v1 when it is up again. Before 2023, Triton had none.
func (s *Triton) SetHealthService(has bool) { s.old = !has }

// Checks counts the health checks by Envoy itself.
func (s *Triton) Checks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

// Calls counts the calls of a method, including those in progress, but not the health checks by Envoy itself.
func (s *Triton) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Header returns the headers of the last call of a method, or nil.
func (s *Triton) Header(method string) metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header[method]
}

// Down closes the port and every connection.
func (s *Triton) Down() { s.server.Stop() }

// Up opens the port.
func (s *Triton) Up(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Addr, s.health = l.Addr().String(), health.NewServer()
	s.health.SetServingStatus("", s.state)
	s.server = grpc.NewServer(grpc.ForceServerCodecV2(RawCodec{}), grpc.UnknownServiceHandler(s.handle),
		grpc.MaxRecvMsgSize(largestMessage), grpc.MaxConcurrentStreams(1<<20), grpc.UnaryInterceptor(s.countHealthCheck))
	if !s.old {
		healthpb.RegisterHealthServer(s.server, s.health)
	}
	go func() { _ = s.server.Serve(l) }()
}

func (s *Triton) countHealthCheck(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	s.came(ctx, HealthCheck)
	return next(ctx, request)
}

func (s *Triton) came(ctx context.Context, method string) {
	header, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(header.Get("user-agent"), "Envoy/HC") {
		s.checks++
		return
	}
	s.calls[method]++
	s.header[method] = header
}

func (s *Triton) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil && err != io.EOF {
		return err
	}
	s.came(stream.Context(), method)
	s.mu.Lock()
	delay, own := s.delays[method]
	if !own {
		delay = s.delay
	}
	size := s.sizes[method]
	ready := s.state == healthpb.HealthCheckResponse_SERVING
	s.mu.Unlock()
	var reply []byte
	switch method {
	case ServerLive, ServerReady:
		if ready || method == ServerLive {
			reply = protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
		}
	case ServerMetadata:
		reply = field1("triton")
	case RepositoryIndex:
		reply = indexReply()
	case ModelInfer:
		reply = field1(Model)
	default:
		return status.Errorf(codes.Unimplemented, "the stub has no %s", method)
	}
	if size > 0 {
		reply = make([]byte, size)
	}
	if err := s.rest(stream.Context(), delay); err != nil {
		return err
	}
	return stream.SendMsg(&reply)
}

func (s *Triton) rest(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-s.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// indexReply returns a RepositoryIndexResponse with one ready model.
func indexReply() []byte {
	model := field1(Model)
	for number, text := range []string{2: "1", 3: "READY"} {
		if text != "" {
			model = protowire.AppendTag(model, protowire.Number(number), protowire.BytesType)
			model = protowire.AppendString(model, text)
		}
	}
	return field1(string(model))
}

// field1 returns a message whose field 1 is the text.
func field1(text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
}
