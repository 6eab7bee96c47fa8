package envoy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Authority is a certificate authority for a test.
type Authority struct {
	PEM string // its certificate

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority creates a new authority.
func NewAuthority(t testing.TB) Authority {
	t.Helper()
	key := newKey(t)
	template := validNow(pkix.Name{CommonName: "test authority"})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return Authority{PEM: encode("CERTIFICATE", der), certificate: certificate, key: key}
}

// Certificate creates a server certificate for a host name.
func (a Authority) Certificate(t testing.TB, host string) tls.Certificate {
	t.Helper()
	return a.sign(t, host, validNow(pkix.Name{CommonName: host}))
}

// Files creates a server certificate with a given serial number, and its key, as PEM.
func (a Authority) Files(t testing.TB, host string, serial int64) (cert, key string) {
	t.Helper()
	template := validNow(pkix.Name{CommonName: host})
	template.SerialNumber = big.NewInt(serial)
	pair := a.sign(t, host, template)
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", pair.Certificate[0]), encode("PRIVATE KEY", private)
}

// Pool contains only this authority.
func (a Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func (a Authority) sign(t testing.TB, host string, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template.DNSNames, template.ExtKeyUsage = []string{host}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func validNow(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}
