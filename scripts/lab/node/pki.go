package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// An identity is a certificate that the node's authority signs.
type identity struct {
	file  string // name without extension, under run
	name  string
	group string // Kubernetes' word for the organization
	hosts []string
}

var identities = []identity{
	{file: "api", name: "kube-apiserver", hosts: []string{
		hostAddress, apiService, "127.0.0.1", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}},
	{file: "admin", name: "admin", group: "system:masters"},
	{file: "kubelet", name: "system:node:lab", group: "system:nodes", hosts: []string{"lab", hostAddress}},
	{file: "front", name: "front-proxy"},
}

// certificates writes an authority, the identities, the key of the service
// accounts and a kubeconfig for each client.
func certificates(d Dir) error {
	key, err := writeKey(d, "ca")
	if err != nil {
		return err
	}
	ca := template("lab-ca", "")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	if err := sign(d, "ca", ca, ca, key, key); err != nil {
		return err
	}
	for _, id := range identities {
		own, err := writeKey(d, id.file)
		if err != nil {
			return err
		}
		c := template(id.name, id.group)
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		for _, host := range id.hosts {
			if ip := net.ParseIP(host); ip != nil {
				c.IPAddresses = append(c.IPAddresses, ip)
			} else {
				c.DNSNames = append(c.DNSNames, host)
			}
		}
		if err := sign(d, id.file, c, ca, own, key); err != nil {
			return err
		}
	}
	for _, name := range []string{"admin", "kubelet"} {
		if err := os.WriteFile(d.Run(name+".conf"), kubeconfig(d, name), 0o600); err != nil {
			return err
		}
	}
	return serviceAccountKey(d)
}

func template(name, group string) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(7 * 24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	if group != "" {
		c.Subject.Organization = []string{group}
	}
	return c
}

func writeKey(d Dir, file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(d.Run(file+".key"), "EC PRIVATE KEY", der)
}

// serviceAccountKey writes the key pair that signs and verifies tokens.
func serviceAccountKey(d Dir) error {
	key, err := writeKey(d, "sa")
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return writePEM(d.Run("sa.pub"), "PUBLIC KEY", der)
}

func sign(d Dir, file string, c, parent *x509.Certificate, key, by *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		return fmt.Errorf("certificate of %s: %w", file, err)
	}
	return writePEM(d.Run(file+".crt"), "CERTIFICATE", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func kubeconfig(d Dir, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://%s:6443", certificate-authority: "%s"}}]
users: [{name: %[3]s, user: {client-certificate: "%[4]s", client-key: "%[5]s"}}]
contexts: [{name: lab, context: {cluster: lab, user: %[3]s}}]
current-context: lab
`, hostAddress, d.Run("ca.crt"), user, d.Run(user+".crt"), d.Run(user+".key"))
}
