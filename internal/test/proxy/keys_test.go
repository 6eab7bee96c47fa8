package proxy

import (
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// Envoy verifies the host of the keys, so that nobody in between can replace them.
func TestKeyHostVerified(t *testing.T) {
	ca, other := envoy.NewAuthority(t), envoy.NewAuthority(t)
	for _, c := range []struct {
		name  string
		ca    envoy.Authority // of the replica
		host  string          // in its certificate
		want  codes.Code
		trust string
	}{
		{"right", ca, "keys.example.org", codes.OK, ca.PEM},
		{"other-host", ca, "elsewhere.example.org", codes.Unauthenticated, ca.PEM},
		{"other-authority", other, "keys.example.org", codes.Unauthenticated, ca.PEM},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := newIssuer(t, c.ca, c.host)
			p := start(t, envoy.ProxyOptions{
				Values: `
envoy:
  auth:
    enabled: true
    providers:
    - {name: one, issuer: "https://one.example.org", jwksUri: "https://keys.example.org/keys", ca: {secretName: authority}}
`,
				Endpoints: map[string]string{"auth_cluster_one": keys.addr},
				Secrets:   map[string]string{"jwks-one/ca.crt": c.trust},
			})
			r := p.Client.Call(t.Context(), envoy.ModelInfer, nil, "authorization", "Bearer "+keys.token(t, "https://one.example.org", nil))
			if r.Code != c.want {
				t.Errorf("ModelInfer: %v %s, want %v", r.Code, r.Message, c.want)
			}
		})
	}
}

// A provider without a CA trusts those of the image, which did not sign the test's certificate.
func TestKeysOfSingleIssuer(t *testing.T) {
	keys := newIssuer(t, envoy.NewAuthority(t), "keys.example.org")
	p := start(t, envoy.ProxyOptions{
		Values: `
envoy:
  auth:
    enabled: true
    jwt_issuer: https://one.example.org
    jwt_remote_jwks_uri: https://keys.example.org/keys
    audiences: [sonic]
    url: keys.example.org
    port: 443
`,
		Endpoints: map[string]string{"auth_cluster": keys.addr},
	})
	r := p.Client.Call(t.Context(), envoy.ModelInfer, nil, "authorization", "Bearer "+keys.token(t, "https://one.example.org", nil))
	if r.Code != codes.Unauthenticated {
		t.Errorf("ModelInfer with a token whose key came over an unverified connection: %v, want Unauthenticated", r.Code)
	}
	if failed := p.Value(t, "envoy_cluster_ssl_fail_verify_error", "envoy_cluster_name", "auth_cluster"); failed == 0 {
		t.Error("no certificate was refused")
	}
}

// Names of providers that YAML does not read as strings, or that the chart uses itself, do not weaken authentication.
func TestProviderNames(t *testing.T) {
	ca := envoy.NewAuthority(t)
	for _, name := range []string{"null", "true", "health"} {
		t.Run(name, func(t *testing.T) {
			one := newIssuer(t, ca, "keys.example.org")
			p := start(t, envoy.ProxyOptions{
				Values:    strings.NewReplacer("name: two", "name: "+strconv.Quote(name)).Replace(twoProviders),
				Endpoints: map[string]string{"auth_cluster_one": one.addr, "auth_cluster_" + name: one.addr},
				Secrets:   map[string]string{"jwks-one/ca.crt": ca.PEM, "jwks-" + name + "/ca.crt": ca.PEM},
			})
			if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.Unauthenticated {
				t.Errorf("ModelInfer without a token: %v %s", r.Code, r.Message)
			}
			if r := p.Client.Call(t.Context(), envoy.ServerReady, nil); r.Code != codes.OK {
				t.Errorf("ServerReady without a token: %v %s", r.Code, r.Message)
			}
		})
	}
}
