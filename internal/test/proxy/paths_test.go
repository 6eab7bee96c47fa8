package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

const inference = "/inference.GRPCInferenceService/"

// Requests of load balancers, scanners and browsers do not wake a fleet or keep it awake, and are not held.
func TestOtherPathsCostNothing(t *testing.T) {
	p, names := fleet(t, `
envoy: {hold: {enabled: true}, rate_limiter: {prometheus_based: {enabled: true}}}
prometheus: {enabled: true}
`)
	names.Answer(dns.RcodeSuccess)
	for _, path := range []string{
		"/AWS.ALB/healthcheck", "/grpc.health.v1.Health/Watch", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/",
		inference, inference + "ModelInfer/", inference + "ModelInfer%20", "/" + inference + "ModelInfer",
		"/inferenceXGRPCInferenceService/ModelInfer", "/INFERENCE.GRPCInferenceService/ModelInfer",
	} {
		if r := p.Client.Call(t.Context(), path, nil); r.Code != codes.Unimplemented || r.Took > settle/3 {
			t.Errorf("%s: %v %q after %s, want Unimplemented at once", path, r.Code, r.Message, r.Took)
		}
	}
	for _, path := range []string{"/", "/v2/health/ready", "/favicon.ico", envoy.RepositoryIndex, envoy.ModelInfer, envoy.HealthCheck} {
		for _, kind := range []string{"", "application/json", "application/grpc-web"} {
			if status := post(t, p.Addr(t, "listener_grpc"), path, kind); status != http.StatusNotFound {
				t.Errorf("POST %s of %q: %d, want 404", path, kind, status)
			}
		}
		if status, _ := request(t, p.Addr(t, "listener_grpc"), "GET", path); status != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", path, status)
		}
	}
	for metric, cluster := range map[string]string{
		"upstream_cx_none_healthy": service, "upstream_rq_total": "gate_wait", "upstream_cx_total": "gate_probe",
	} {
		if n := p.cluster(t, metric, cluster); n != 0 {
			t.Errorf("%s of %s: %v, want 0", metric, cluster, n)
		}
	}
	p.Client.Call(t.Context(), envoy.ModelInfer, nil)
	if n := p.cluster(t, "upstream_cx_none_healthy", service); n != 1 {
		t.Errorf("calls that found no server: %v, want the one of ModelInfer", n)
	}
}

// post sends a small body and returns the status of the answer.
func post(t testing.TB, addr, path, contentType string) int {
	t.Helper()
	client := http.Client{Timeout: settle / 3} // a call that is held would wait for minutes
	response, err := client.Post("http://"+addr+path, contentType, strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func TestFurtherPaths(t *testing.T) {
	p := start(t, envoy.ProxyOptions{Values: `
envoy: {paths: {work: [/a.Work/One, /a.Works/], other: [/a.Probe/Ask, ` + inference + `LogSettings]}}
`})
	p.infer(t, codes.OK)
	for _, c := range []struct {
		path           string
		reaches, works bool
	}{
		{"/a.Work/One", true, true},
		{"/a.Work/Two", false, false},
		{"/a.Works/Any", true, true},
		{"/a.Probe/Ask", true, false},
		{"/a.Probe/AskMore", false, false},
		{inference + "LogSettings", true, false},
	} {
		before := p.cluster(t, "upstream_rq_total", service)
		p.Client.Call(t.Context(), c.path, nil)
		if reached := p.Triton.Calls(c.path) == 1; reached != c.reaches {
			t.Errorf("%s reached Triton: %v", c.path, reached)
		}
		if worked := p.cluster(t, "upstream_rq_total", service) == before+1; worked != c.works {
			t.Errorf("%s counted as load: %v", c.path, worked)
		}
	}
}

// A client cannot load models, change logs or unregister another client's shared memory.
func TestControlMethods(t *testing.T) {
	control := []string{
		"RepositoryModelLoad", "RepositoryModelUnload", "TraceSetting", "LogSettings", "SystemSharedMemoryRegister",
		"SystemSharedMemoryUnregister", "CudaSharedMemoryRegister", "CudaSharedMemoryUnregister",
	}
	p := start(t, envoy.ProxyOptions{Values: "envoy: {paths: {work: [" + inference + "RepositoryModelLoad]}}"})
	p.infer(t, codes.OK)
	for _, method := range control[1:] {
		for _, form := range []string{
			method, method + "?a=b", method + "/", method + "%20", fmt.Sprintf("%%%x", method[0]) + method[1:],
			strings.ToLower(method), "x/../" + method,
		} {
			want := codes.Unimplemented // as for an unknown method
			if form[0] == '%' || strings.HasPrefix(form, method+"?") || form == method || strings.Contains(form, "..") {
				want = codes.PermissionDenied
			}
			if r := p.Client.Call(t.Context(), inference+form, nil); r.Code != want {
				t.Errorf("%s: %v %q, want %v", form, r.Code, r.Message, want)
			}
		}
		if n := p.Triton.Calls(inference + method); n != 0 {
			t.Errorf("%s reached Triton %d times", method, n)
		}
	}
	p.Client.Call(t.Context(), inference+control[0], nil)
	for _, method := range []string{control[0], "SystemSharedMemoryStatus", "CudaSharedMemoryStatus", "ModelStatistics"} {
		p.Client.Call(t.Context(), inference+method, nil)
		if p.Triton.Calls(inference+method) == 0 {
			t.Errorf("%s did not reach Triton", method)
		}
	}
}

// A request header does not make Envoy or Triton trace a call.
func TestTracingHeaders(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, tracing := range []string{"envoy: {tracing_sampling_rate: 0, tracing: {host: otel.example.org}}", ""} {
		p := start(t, envoy.ProxyOptions{Values: tracing})
		p.infer(t, codes.OK)
		for _, header := range [][]string{
			{"x-client-trace-id", "me"},
			{"traceparent", "00-" + id + "-00f067aa0ba902b7-01"},
			{"traceparent", "00-" + id + "-00f067aa0ba902b7-01", "tracestate", "a=b"},
			{"x-envoy-force-trace", "1"},
			{"x-request-id", "4bf92f35-77b3-9da6-a3ce-929d0e0e4736"}, // the form of Envoy's own ids for forced traces
		} {
			p.Client.Call(t.Context(), envoy.ModelInfer, nil, header...)
			got := p.Triton.Header(envoy.ModelInfer)
			parent := strings.Join(got.Get("traceparent"), " ")
			if strings.Contains(parent, id) || strings.HasSuffix(parent, "-01") || len(got.Get("tracestate")) > 0 && parent == "" {
				t.Errorf("%q with %v: traceparent at Triton is %q", tracing, header, parent)
			}
		}
	}
}
