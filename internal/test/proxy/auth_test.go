package proxy

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// issuer signs tokens and serves its public key over TLS.
type issuer struct {
	key  *rsa.PrivateKey
	addr string // host:port of its key set
}

func newIssuer(t testing.TB, ca envoy.Authority, host string) issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := issuer{key: key}
	set := fmt.Sprintf(`{"keys":[{"kty":"RSA","alg":"RS256","use":"sig","kid":"1","n":%q,"e":%q}]}`,
		base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()))
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, host)}})
	if err != nil {
		t.Fatal(err)
	}
	i.addr = listener.Addr().String()
	serve(t, listener, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/keys" || r.TLS.ServerName == "" {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, set)
	})
	return i
}

func serve(t testing.TB, listener net.Listener, handle http.HandlerFunc) {
	server := &http.Server{Handler: handle, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// token returns a valid token, except for the given claims.
func (i issuer) token(t testing.TB, name string, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{"iss": name, "aud": "sonic", "sub": "someone", "exp": time.Now().Add(time.Hour).Unix()}
	for claim, value := range claims {
		all[claim] = value
		if value == nil {
			delete(all, claim)
		}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, all)
	token.Header["kid"] = "1"
	text, err := token.SignedString(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const twoProviders = `
envoy:
  auth:
    enabled: true
    providers:
    - name: one
      issuer: https://one.example.org
      audiences: [sonic, other]
      jwksUri: https://keys.example.org:8443/keys
      ca: {secretName: authority}
    - name: two
      issuer: https://two.example.org
      audiences: [sonic]
      jwksUri: https://keys.two.example.org/keys
      requireExpiration: false
      ca: {secretName: authority, key: ca.crt}
      claims:
      - {path: [groups], values: [physics, "it's"]}
      - {path: [realm, level], values: [full]}
`

func TestTokens(t *testing.T) {
	ca := envoy.NewAuthority(t)
	one, two := newIssuer(t, ca, "keys.example.org"), newIssuer(t, ca, "keys.two.example.org")
	p := start(t, envoy.ProxyOptions{
		Values:    twoProviders,
		Endpoints: map[string]string{"auth_cluster_one": one.addr, "auth_cluster_two": two.addr},
		Secrets:   map[string]string{"jwks-one/ca.crt": ca.PEM, "jwks-two/ca.crt": ca.PEM},
	})
	const first, second = "https://one.example.org", "https://two.example.org"
	met := jwt.MapClaims{"groups": []string{"staff", "physics"}, "realm": map[string]any{"level": "full"}}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"iss": first, "aud": "sonic"}).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, token string
		want        codes.Code
	}{
		{"good", one.token(t, first, nil), codes.OK},
		{"second-audience", one.token(t, first, jwt.MapClaims{"aud": "other"}), codes.OK},
		{"one-of-several-audiences", one.token(t, first, jwt.MapClaims{"aud": []string{"x", "sonic"}}), codes.OK},
		{"none", "", codes.Unauthenticated},
		{"expired", one.token(t, first, jwt.MapClaims{"exp": time.Now().Add(-time.Hour).Unix()}), codes.Unauthenticated},
		{"without-exp", one.token(t, first, jwt.MapClaims{"exp": nil}), codes.Unauthenticated},
		{"exp-0", one.token(t, first, jwt.MapClaims{"exp": 0}), codes.Unauthenticated},
		{"exp-is-text", one.token(t, first, jwt.MapClaims{"exp": "never"}), codes.Unauthenticated},
		{"without-exp-allowed", two.token(t, second, jwt.MapClaims{"exp": nil, "groups": met["groups"], "realm": met["realm"]}), codes.OK},
		{"not-yet", one.token(t, first, jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}), codes.Unauthenticated},
		{"forged", two.token(t, first, nil), codes.Unauthenticated},
		{"unsigned", unsigned, codes.Unauthenticated},
		{"garbage", "a.b.c", codes.Unauthenticated},
		{"unknown-issuer", one.token(t, "https://three.example.org", nil), codes.Unauthenticated},
		{"wrong-audience", one.token(t, first, jwt.MapClaims{"aud": "sonic other"}), codes.PermissionDenied},
		{"claims-met", two.token(t, second, met), codes.OK},
		{"claim-is-text", two.token(t, second, jwt.MapClaims{"groups": "it's", "realm": met["realm"]}), codes.OK},
		{"claims-missing", two.token(t, second, nil), codes.PermissionDenied},
		{"one-claim-of-two", two.token(t, second, jwt.MapClaims{"groups": met["groups"]}), codes.PermissionDenied},
		{"claim-contains", two.token(t, second, jwt.MapClaims{"groups": []string{"physics2"}, "realm": met["realm"]}), codes.PermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := p.Triton.Calls(envoy.ModelInfer)
			var header []string
			if c.token != "" {
				header = []string{"authorization", "Bearer " + c.token}
			}
			r := p.Client.Call(t.Context(), envoy.ModelInfer, nil, header...)
			if r.Code != c.want {
				t.Errorf("ModelInfer: %v %s, want %v", r.Code, r.Message, c.want)
			}
			if reached := p.Triton.Calls(envoy.ModelInfer) > before; reached != (c.want == codes.OK) {
				t.Errorf("the call reached Triton: %v", reached)
			}
		})
	}
	for _, method := range []string{envoy.HealthCheck, envoy.ServerLive, envoy.ServerReady} {
		if r := p.Client.Call(t.Context(), method, nil); r.Code != codes.OK {
			t.Errorf("%s without a token: %v %s", method, r.Code, r.Message)
		}
	}
	if status, _ := request(t, p.Addr(t, "stats"), "GET", "/stats/prometheus"); status != http.StatusOK {
		t.Errorf("metrics without a token: %d", status)
	}
}

// Envoy removes the token from every call, even if none is needed.
func TestTokensDoNotReachTriton(t *testing.T) {
	ca := envoy.NewAuthority(t)
	one := newIssuer(t, ca, "keys.example.org")
	p := start(t, envoy.ProxyOptions{
		Values: twoProviders, Endpoints: map[string]string{"auth_cluster_one": one.addr},
		Secrets: map[string]string{"jwks-one/ca.crt": ca.PEM, "jwks-two/ca.crt": ca.PEM},
	})
	good := "Bearer " + one.token(t, "https://one.example.org", nil)
	open := start(t, envoy.ProxyOptions{})
	for _, c := range []struct {
		name, token string
		p           *proxy
	}{
		{"good", good, p},
		{"expired", "Bearer " + one.token(t, "https://one.example.org", jwt.MapClaims{"exp": time.Now().Add(-time.Hour).Unix()}), p},
		{"basic", "Basic bWU6c2VjcmV0", p},
		{"without-authentication", good, open},
	} {
		c.p.infer(t, codes.OK)
		for _, method := range []string{envoy.HealthCheck, envoy.ServerLive, envoy.ServerReady, envoy.ModelInfer} {
			r := c.p.Client.Call(t.Context(), method, nil, "authorization", c.token, "a", "b")
			if method == envoy.ModelInfer && r.Code != codes.OK {
				continue
			}
			got := c.p.Triton.Header(method)
			if r.Code != codes.OK || len(got.Get("a")) != 1 || len(got.Get("authorization")) > 0 {
				t.Errorf("%s, %s: %v, Triton got %v", c.name, method, r.Code, got)
			}
		}
	}
}

// A rule with methods applies only to calls of these methods.
func TestClaimRulesByMethod(t *testing.T) {
	ca := envoy.NewAuthority(t)
	one := newIssuer(t, ca, "keys.example.org")
	p := start(t, envoy.ProxyOptions{
		Values: `
envoy:
  paths: {other: [/inference.GRPCInferenceService/RepositoryModelLoad, /a.Admin/]}
  auth:
    enabled: true
    providers:
    - name: one
      issuer: https://one.example.org
      jwksUri: https://keys.example.org/keys
      ca: {secretName: authority}
      claims:
      - {path: [groups], values: [users, operators]}
      - {path: [groups], values: [operators], methods: [/inference.GRPCInferenceService/RepositoryModelLoad, /a.Admin/]}
`,
		Endpoints: map[string]string{"auth_cluster_one": one.addr}, Secrets: map[string]string{"jwks-one/ca.crt": ca.PEM},
	})
	const load = inference + "RepositoryModelLoad"
	for _, c := range []struct {
		group, path string
		reaches     bool
	}{
		{"users", envoy.ModelInfer, true},
		{"users", load, false},
		{"users", load + "?a", false},
		{"users", "/a.Admin/Any", false},
		{"nobody", envoy.ModelInfer, false},
		{"nobody", load, false},
		{"operators", load, true},
		{"operators", "/a.Admin/Any", true},
		{"operators", envoy.ModelInfer, true},
	} {
		token := one.token(t, "https://one.example.org", jwt.MapClaims{"groups": []string{c.group}})
		before := p.Triton.Calls(c.path)
		r := p.Client.Call(t.Context(), c.path, nil, "authorization", "Bearer "+token)
		if reached := p.Triton.Calls(c.path) > before; reached != c.reaches || !c.reaches && r.Code != codes.PermissionDenied {
			t.Errorf("%s for %s: %v %s, reached Triton: %v", c.path, c.group, r.Code, r.Message, reached)
		}
	}
}
