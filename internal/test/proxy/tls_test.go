package proxy

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

// Clients use TLS, and a certificate is renewed without a restart.
func TestTLS(t *testing.T) {
	ca := envoy.NewAuthority(t)
	first, firstKey := ca.Files(t, "sonic.example.org", 10)
	p := &proxy{envoy.NewProxy(t, `envoy: {tls: {enabled: true, secretName: certificate}}`)}
	envoy.Mount(t, filepath.Join(p.Dir, "secrets", "tls"), map[string]string{"tls.crt": first, "tls.key": firstKey})
	p.Run(t, envoy.ProxyOptions{})

	if r := p.Client.Call(t.Context(), envoy.ServerLive, nil); r.Code != codes.Unavailable {
		t.Errorf("a call without TLS: %v, want Unavailable", r.Code)
	}
	creds := credentials.NewTLS(&tls.Config{RootCAs: ca.Pool(), ServerName: "sonic.example.org"})
	p.Client = envoy.Dial(t, p.Addr(t, "listener_grpc"), grpc.WithTransportCredentials(creds))
	if r := p.infer(t, codes.OK); r.Code != codes.OK {
		t.Fatalf("a call with TLS: %v %s", r.Code, r.Message)
	}
	if got := p.serial(t, ca); got != 10 {
		t.Fatalf("certificate: serial %d, want 10", got)
	}
	second, secondKey := ca.Files(t, "sonic.example.org", 11)
	envoy.Mount(t, filepath.Join(p.Dir, "secrets", "tls"), map[string]string{"tls.crt": second, "tls.key": secondKey})
	envoy.Await(t, settle, "the renewed certificate", func() bool { return p.serial(t, ca) == 11 })
	if r := p.Client.Call(t.Context(), envoy.ModelInfer, nil); r.Code != codes.OK {
		t.Errorf("a call after the renewal: %v %s", r.Code, r.Message)
	}
}

// serial returns the serial number of Envoy's certificate.
func (p *proxy) serial(t testing.TB, ca envoy.Authority) int64 {
	t.Helper()
	dialer := &net.Dialer{Timeout: settle}
	conn, err := tls.DialWithDialer(dialer, "tcp", p.Addr(t, "listener_grpc"),
		&tls.Config{RootCAs: ca.Pool(), ServerName: "sonic.example.org", NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}
