package release_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// A helm is one of the supported versions, with its own home.
type helm struct{ name, path, home string }

func helms(t *testing.T) []helm {
	t.Helper()
	var all []helm
	for _, name := range []string{"helm", "helm4"} {
		all = append(all, helm{name, tools.Path(t, name), t.TempDir()})
	}
	return all
}

func (h helm) run(args ...string) (string, error) {
	cmd := exec.Command(h.path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null", "HELM_NAMESPACE=", "HELM_CONFIG_HOME="+h.home+"/config",
		"HELM_CACHE_HOME="+h.home+"/cache", "HELM_DATA_HOME="+h.home+"/data", "HELM_PLUGINS="+h.home+"/data/plugins")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A key is a signing key for a test, with a passphrase.
type key struct{ secret, public, passphrase string }

const keyName = "Release Test"

func (k key) flags() []string {
	return []string{"-keyring", k.secret, "-key", keyName, "-passphrase-file", k.passphrase}
}

func newKey(t *testing.T) key {
	t.Helper()
	entity, err := openpgp.NewEntity(keyName, "", "release@example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	var public, secret bytes.Buffer
	if err := entity.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	const passphrase = "open sesame"
	if err := entity.EncryptPrivateKeys([]byte(passphrase), nil); err != nil {
		t.Fatal(err)
	}
	if err := entity.SerializePrivateWithoutSigning(&secret, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return key{put("secret.gpg", secret.Bytes()), put("public.gpg", public.Bytes()), put("passphrase", []byte(passphrase+"\n"))}
}

// signatures checks that both versions of Helm and OpenPGP verify the signatures, and reject a modified file.
func signatures(t *testing.T, dist string, k key) {
	chart, sums := named(t, ".tgz"), read(t, dist, "SHA256SUMS")
	forged := t.TempDir()
	for _, name := range []string{chart, chart + ".prov"} {
		data := read(t, dist, name)
		if name == chart {
			data = append(data, 0)
		}
		if err := os.WriteFile(filepath.Join(forged, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, helm := range helms(t) {
		if said, err := helm.run("verify", "--keyring", k.public, filepath.Join(dist, chart)); err != nil {
			t.Errorf("%s: %v\n%s", helm.name, err, said)
		}
		if said, err := helm.run("verify", "--keyring", k.public, filepath.Join(forged, chart)); err == nil {
			t.Errorf("%s: a changed chart is verified:\n%s", helm.name, said)
		}
	}
	ring, err := openpgp.ReadKeyRing(bytes.NewReader(read(t, k.public)))
	if err != nil {
		t.Fatal(err)
	}
	signature := read(t, dist, "SHA256SUMS.asc")
	check := func(text []byte) error {
		_, err := openpgp.CheckArmoredDetachedSignature(ring, bytes.NewReader(text), bytes.NewReader(signature), nil)
		return err
	}
	if err := check(sums); err != nil {
		t.Errorf("SHA256SUMS.asc: %v", err)
	}
	if check(append(sums, ' ')) == nil {
		t.Error("SHA256SUMS.asc: other checksums are verified")
	}
}

// plugin installs the archive from a web server with both versions of Helm. Helm 4 verifies it.
func plugin(t *testing.T, dist string, k key) {
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	defer server.Close()
	archive := server.URL + "/" + named(t, "-"+host+".tar.gz")
	for _, helm := range helms(t) {
		install := []string{"plugin", "install", archive}
		if helm.name == "helm4" {
			if said, err := helm.run(append(install, "--keyring", "/dev/null")...); err == nil {
				t.Errorf("%s: verified without a key:\n%s", helm.name, said)
			}
			install = append(install, "--keyring", k.public)
		}
		if said, err := helm.run(install...); err != nil {
			t.Fatalf("%s: %v\n%s", helm.name, err, said)
		}
		for args, want := range map[string]string{
			"query replicas --release sonic -n cms": `{envoy_cluster_name="triton_grpc_service",namespace="cms",release="sonic"}`,
			"query replicas --release sonic":        `{envoy_cluster_name="triton_grpc_service",namespace="default",release="sonic"}`,
			"version":                               named(t, "")[len("supersonic-"):],
		} {
			if said, err := helm.run(append([]string{"supersonic"}, strings.Fields(args)...)...); err != nil || !strings.Contains(said, want) {
				t.Errorf("%s supersonic %s: %v, want %s in\n%s", helm.name, args, err, want, said)
			}
		}
		if said, err := helm.run("supersonic", "lint", filepath.Join(root, "README.md")); err == nil {
			t.Errorf("%s supersonic lint of a page: must fail, got\n%s", helm.name, said)
		}
	}
}
