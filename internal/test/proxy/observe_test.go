package proxy

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// The access log is one JSON object for each call.
func TestAccessLog(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: "envoy: {accessLog: {enabled: true}}"})
	p.infer(t, codes.OK)
	var line map[string]any
	envoy.Await(t, settle, "a line of the access log", func() bool {
		for text := range strings.Lines(p.Log()) {
			if json.Unmarshal([]byte(text), &line) == nil && line["method"] == envoy.ModelInfer && line["grpc_status"] == "OK" {
				return true
			}
		}
		return false
	})
	for _, field := range []string{"time", "client", "duration_ms", "details", "server", "request_id"} {
		if line[field] == nil {
			t.Errorf("the access log has no %s: %v", field, line)
		}
	}
}

// Spans carry the pod's name.
func TestSpans(t *testing.T) {
	for name, values := range map[string]string{
		"own-collector":      "tempo: {enabled: true}\nopentelemetry-collector: {enabled: true}\nenvoy: {tracing_sampling_rate: 1}",
		"external-collector": "envoy: {tracing_sampling_rate: 1, tracing: {host: otel.example.org}}",
	} {
		t.Run(name, func(t *testing.T) {
			exports := make(chan []byte, 100)
			p := start(t, envoy.ProxyOptions{
				Values: values, Endpoints: map[string]string{"opentelemetry_collector": startCollector(t, exports)},
			})
			variables := map[string]string{}
			for _, v := range p.Container(t).Env {
				variables[v.Name] = v.Value
			}
			if got := variables["OTEL_RESOURCE_ATTRIBUTES"]; got != "service.name=$(POD_NAME)" {
				t.Errorf("OTEL_RESOURCE_ATTRIBUTES: %q", got)
			}
			p.infer(t, codes.OK)
			services := attribute(resource(<-exports), "service.name")
			if len(services) != 1 || services[0] != "the-pod" {
				t.Errorf("service.name of the spans: %q, want the pod's name", services)
			}
		})
	}
}

// Nothing is traced at a rate of 0.
func TestTracingOff(t *testing.T) {
	exports := make(chan []byte, 100)
	p := start(t, envoy.ProxyOptions{
		Values:    "envoy: {tracing_sampling_rate: 0, tracing: {host: otel.example.org}}",
		Endpoints: map[string]string{"opentelemetry_collector": startCollector(t, exports)},
	})
	for range 100 {
		p.infer(t, codes.OK)
	}
	random := p.Value(t, "envoy_http_tracing_random_sampling", "envoy_http_conn_manager_prefix", "ingress_grpc")
	if random != 0 || len(exports) != 0 {
		t.Errorf("%v calls traced, %d exports, want none", random, len(exports))
	}
}

// startCollector runs a stub of an OpenTelemetry collector that passes on each export.
func startCollector(t testing.TB, exports chan<- []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(envoy.RawCodec{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var request, reply []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			exports <- request
			return stream.SendMsg(&reply)
		}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// resource returns the encoded Resource of the first ResourceSpans in an ExportTraceServiceRequest.
func resource(export []byte) []byte { return message(message(export, 1), 1) }

// attribute returns the string values of an attribute of a Resource.
func attribute(resource []byte, key string) (values []string) {
	for len(resource) > 0 {
		number, kind, n := protowire.ConsumeTag(resource)
		resource = resource[max(n, 0):]
		size := protowire.ConsumeFieldValue(number, kind, resource)
		if n < 0 || size < 0 {
			return values
		}
		if pair, _ := protowire.ConsumeBytes(resource); number == 1 && string(message(pair, 1)) == key {
			values = append(values, string(message(message(pair, 2), 1)))
		}
		resource = resource[size:]
	}
	return values
}

// message returns the content of the first length-delimited field with a number.
func message(encoded []byte, want protowire.Number) []byte {
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 {
			return nil
		}
		encoded = encoded[n:]
		if number == want && kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(encoded)
			return content
		}
		size := protowire.ConsumeFieldValue(number, kind, encoded)
		if size < 0 {
			return nil
		}
		encoded = encoded[size:]
	}
	return nil
}
