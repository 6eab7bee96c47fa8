package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
)

// An issuer signs tokens and serves its keys (JWKS) over TLS, with a certificate of
// the authority in the Secret "authority".
type issuer struct {
	key  *ecdsa.PrivateKey
	jwks string // where its keys are
}

const issuerName = "https://issuer.example.org"

// startIssuer runs an issuer on the node, behind the Service "keys".
func startIssuer(t testing.TB, namespace string) issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	host := fmt.Sprintf("keys.%s.svc.cluster.local", namespace)
	certificate, private, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	must(t, err)
	pair, err := tls.X509KeyPair(certificate, private)
	must(t, err)

	emptyNamespace(t, namespace)
	address := theNode(t).Status.Addresses[0].Address
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		point, err := key.PublicKey.Bytes() // 4, x, y
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		encode := base64.RawURLEncoding.EncodeToString
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"1","x":%q,"y":%q}]}`,
			encode(point[1:33]), encode(point[33:]))
	}))
	must(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
	must(t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)

	vouch(t, namespace, certificate)
	publish(t, namespace, server.Listener.Addr().(*net.TCPAddr))
	return issuer{key, "https://" + host + "/keys"}
}

// vouch creates the Secret "authority".
func vouch(t testing.TB, namespace string, certificate []byte) {
	t.Helper()
	_, err := lab.Kube.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "authority"},
		Data:       map[string][]byte{"ca.crt": certificate},
	}, metav1.CreateOptions{})
	must(t, err)
}

// publish exposes a process of the node as the Service "keys", port 443.
func publish(t testing.TB, namespace string, address *net.TCPAddr) {
	t.Helper()
	_, err := lab.Kube.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "keys"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}, metav1.CreateOptions{})
	must(t, err)
	name, port := "https", int32(address.Port)
	_, err = lab.Kube.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "keys", Labels: map[string]string{discoveryv1.LabelServiceName: "keys"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address.IP.String()}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}, metav1.CreateOptions{})
	must(t, err)
}

// values enable authentication by this issuer.
func (i issuer) values() []string {
	return []string{"--set-json", fmt.Sprintf(`envoy.auth={"enabled":true,"providers":[{"name":"lab","issuer":%q,"jwksUri":%q,`+
		`"audiences":["inference"],"ca":{"secretName":"authority"}}]}`, issuerName, i.jwks)}
}

// token signs a token for an audience that is valid for 15 minutes.
func (i issuer) token(t testing.TB, audience string) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": issuerName, "sub": "client", "aud": audience, "exp": time.Now().Add(15 * time.Minute).Unix(),
	})
	token.Header["kid"] = "1"
	signed, err := token.SignedString(i.key)
	must(t, err)
	return signed
}
