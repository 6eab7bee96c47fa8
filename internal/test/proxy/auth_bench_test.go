package proxy

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// BenchmarkToken alternates between calls to an Envoy without tokens and to one that verifies a token for each call.
func BenchmarkToken(b *testing.B) {
	ca := envoy.NewAuthority(b)
	one := newIssuer(b, ca, "keys.example.org")
	open := start(b, envoy.ProxyOptions{})
	closed := start(b, envoy.ProxyOptions{
		Values:    twoProviders,
		Endpoints: map[string]string{"auth_cluster_one": one.addr, "auth_cluster_two": one.addr},
		Secrets:   map[string]string{"jwks-one/ca.crt": ca.PEM, "jwks-two/ca.crt": ca.PEM},
	})
	header := []string{"authorization", "Bearer " + one.token(b, "https://one.example.org", nil)}
	var without, with []time.Duration
	for b.Loop() {
		without = append(without, took(b, open))
		with = append(with, took(b, closed, header...))
	}
	slices.Sort(without)
	slices.Sort(with)
	p50 := func(times []time.Duration) float64 { return times[len(times)/2].Seconds() }
	b.ReportMetric(p50(without)*1e3, "none-p50-ms")
	b.ReportMetric(p50(with)*1e3, "token-p50-ms")
	b.ReportMetric(p50(with)/p50(without), "token-p50-ratio")
}

// took makes a call, and returns the time until its answer.
func took(b *testing.B, p *proxy, header ...string) time.Duration {
	b.Helper()
	r := p.Client.Call(b.Context(), envoy.ModelInfer, nil, header...)
	if r.Code != codes.OK {
		b.Fatalf("%v: %s", r.Code, r.Message)
	}
	return r.Took
}
