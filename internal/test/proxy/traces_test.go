package proxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/ports"
)

// Recordings of one traced call, as a real Envoy and a real Triton export it to the collector: protobuf and JSON.
const (
	envoyTraces  = "../prometheus/testdata/envoy-traces.binpb"
	tritonTraces = "../prometheus/testdata/triton-traces.json"
)

// TestTraces runs the real parts and checks that they export the recorded spans, with which the collector is tested, with
// the names and attributes that its configuration reads. With -record it writes the recordings.
func TestTraces(t *testing.T) {
	const values = "envoy: {tracing_sampling_rate: 1, tracing: {host: otel.example.org}}\n"
	fromEnvoy, fromTriton := make(chan []byte, 100), make(chan []byte, 100)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" && r.Header.Get("Content-Type") == "application/json" {
			fromTriton <- body
		}
	}))
	t.Cleanup(sink.Close)
	names, port := startNameServer(t), ports.Free(t)
	p := &proxy{envoy.NewProxy(t, withTritonPort(port)+values)}
	p.Run(t, envoy.ProxyOptions{
		Resolver: names.addr, Endpoints: map[string]string{"opentelemetry_collector": startCollector(t, fromEnvoy)},
	})
	runTriton(t, net.JoinHostPort("127.0.0.1", port), "--trace-config=mode=opentelemetry",
		"--trace-config=opentelemetry,resource=pod_name=sonic-triton-0",
		"--trace-config=opentelemetry,url="+sink.Listener.Addr().String()+"/v1/traces",
		"--trace-config=rate=1", "--trace-config=level=TIMESTAMPS", "--trace-config=count=-1")
	names.Answer(dns.RcodeSuccess, "127.0.0.1")
	p.awaitHealthy(t, 1)
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, inferRequest("double", 1)); r.Code != codes.OK {
		t.Fatalf("ModelInfer: %v %s", r.Code, r.Message)
	}
	for file, export := range map[string][]byte{envoyTraces: <-fromEnvoy, tritonTraces: <-fromTriton} {
		if *record {
			if err := os.WriteFile(file, export, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		recorded, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"the recording": string(recorded), "the export": string(export)} {
			for _, want := range wantInTraces[file] {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s has no %s", file, name, want)
				}
			}
		}
	}
}

var wantInTraces = map[string][]string{
	envoyTraces:  {"ingress", "http.status_code", "http.method", "service.name", "the-pod"},
	tritonTraces: {`"InferRequest"`, `"double"`, `"compute"`, `"pod_name"`, `"sonic-triton-0"`, `"triton-inference-server"`},
}
