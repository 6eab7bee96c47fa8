package gate_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
	"github.com/fastmachinelearning/supersonic/internal/test/gate"
)

// asked waits for a query of the gate, and returns the last one.
func asked(t *testing.T, g *gate.Gate) envoy.Query {
	t.Helper()
	envoy.Await(t, gate.Patience, "a query", func() bool { return len(g.Prometheus.Queries()) > 0 })
	queries := g.Prometheus.Queries()
	return queries[len(queries)-1]
}

func TestQueryByPost(t *testing.T) {
	const metric = `sum(a{b="c d+e%41]]"}) / 2 > bool 1 == bool 1`
	g := gate.Start(t, gate.Defaults().With("serverLoadMetric", metric).With("serverLoadThreshold", 5).
		With("prometheus.external.path", "/select/prometheus").
		With("prometheus.external.queryParameters", map[string]any{"namespace": "team & 2"}).
		With("prometheus.external.headers", map[string]any{"X-Scope-OrgID": "team-1"}))
	g.SetLoad(t, "6")
	q := asked(t, g)
	if q.Method != "POST" || q.Path != "/select/prometheus/api/v1/query" || q.Host != "prometheus.test:9090" {
		t.Errorf("%s %s of %s", q.Method, q.Path, q.Host)
	}
	if q.PromQL != metric {
		t.Errorf("query %q, want the user's own %q", q.PromQL, metric)
	}
	if q.Tenant != "team & 2" {
		t.Errorf("the parameter namespace is %q", q.Tenant)
	}
	if tenant := q.Header.Get("X-Scope-OrgID"); tenant != "team-1" {
		t.Errorf("tenant %q", tenant)
	}
	if r := g.Index(t.Context()); r.Message != "overloaded: load 6 is above the admission threshold 5, try again later" {
		t.Errorf("%v %q", r.Code, r.Message)
	}
}

// The gate uses the credentials of its Secret, also after the Secret changes.
func TestCredentialsFollowSecret(t *testing.T) {
	g := gate.New(t, gate.Defaults().Limiter("cacheSeconds", 0.1).
		With("prometheus.external.auth.bearerTokenSecret", map[string]any{"name": "prometheus", "key": "token"}))
	g.MountSecret(t, map[string]string{"token": "first\n"})
	g.Run(t)
	if got := asked(t, g).Header.Get("Authorization"); got != "Bearer first" {
		t.Errorf("authorization %q", got)
	}
	g.MountSecret(t, map[string]string{"token": "second\n"})
	envoy.Await(t, gate.Patience, "the rotated token", func() bool {
		return asked(t, g).Header.Get("Authorization") == "Bearer second"
	})
}

func TestBasicAuth(t *testing.T) {
	g := gate.New(t, gate.Defaults().With("prometheus.external.auth.basicAuthSecret",
		map[string]any{"name": "prometheus", "usernameKey": "username", "passwordKey": "password"}))
	g.MountSecret(t, map[string]string{"username": "ann\n", "password": "p:w"})
	g.Run(t)
	if got := asked(t, g).Header.Get("Authorization"); got != "Basic YW5uOnA6dw==" {
		t.Errorf("authorization %q", got)
	}
}

func TestMissingCredentials(t *testing.T) {
	g := gate.Start(t, gate.Defaults().
		With("prometheus.external.auth.bearerTokenSecret", map[string]any{"name": "prometheus", "key": "token"}))
	g.AwaitAnswers(t, 1)
	if r := g.Index(t.Context()); r.Code != codes.OK {
		t.Errorf("%v %q, want the choice for an unknown load", r.Code, r.Message)
	}
	if answers := g.Answers(t); answers["no_credentials"] == 0 || len(g.Prometheus.Queries()) != 0 {
		t.Errorf("answers %v after %d queries, want none without credentials", answers, len(g.Prometheus.Queries()))
	}
}

// overTLS returns values for a Prometheus with a certificate of a private authority.
func overTLS() gate.Values {
	return gate.Defaults().With("prometheus.external.scheme", "https").Limiter("unknownLoad", "closed").
		Limiter("cacheSeconds", 0.1).Limiter("timeoutSeconds", 1).
		With("prometheus.external.tls.caConfigMap", map[string]any{"name": "authority", "key": "ca.crt"})
}

func TestPrometheusIsVerified(t *testing.T) {
	ours, other := envoy.NewAuthority(t), envoy.NewAuthority(t)
	for _, c := range []struct {
		name      string
		authority envoy.Authority
		host      string
		want      codes.Code
	}{
		{"right", ours, "prometheus.test", codes.OK},
		{"other-name", ours, "elsewhere.test", codes.ResourceExhausted},
		{"other-authority", other, "prometheus.test", codes.ResourceExhausted},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gate.New(t, overTLS())
			g.MountSecret(t, map[string]string{"ca.crt": ours.PEM})
			g.Prometheus.UseTLS(t, c.authority.Certificate(t, c.host))
			g.Run(t)
			g.AwaitAnswers(t, 2)
			if r := g.Index(t.Context()); r.Code != c.want {
				t.Errorf("%v %q, want %v; answers %v", r.Code, r.Message, c.want, g.Answers(t))
			}
			for _, q := range g.Prometheus.Queries() {
				if q.SNI != "prometheus.test" {
					t.Errorf("SNI %q", q.SNI)
				}
			}
		})
	}
}

func TestAuthorityFollowsItsSecret(t *testing.T) {
	first, second := envoy.NewAuthority(t), envoy.NewAuthority(t)
	g := gate.New(t, overTLS())
	g.MountSecret(t, map[string]string{"ca.crt": first.PEM})
	g.Prometheus.UseTLS(t, first.Certificate(t, "prometheus.test"))
	g.Run(t)
	awaitCode(t, g, codes.OK)
	g.Prometheus.UseTLS(t, second.Certificate(t, "prometheus.test"))
	awaitCode(t, g, codes.ResourceExhausted)
	g.MountSecret(t, map[string]string{"ca.crt": second.PEM})
	awaitCode(t, g, codes.OK)
}
