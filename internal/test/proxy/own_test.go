package proxy

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/fastmachinelearning/supersonic/internal/test/envoy"
)

const withOwnConfiguration = `
envoy:
  external_config: {load_from_configmap: true, configmap_name: mine}
  tls: {enabled: true, secretName: certificate}
`

// Custom configurations like those of sites start in the pod, in which only writable mounts can be written to, and pass
// calls.
func TestOwnConfigurations(t *testing.T) {
	files, err := filepath.Glob("testdata/own/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/own: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ca := envoy.NewAuthority(t)
			certificate, key := ca.Files(t, "sonic.example.org", 1)
			p := &proxy{envoy.NewProxy(t, withOwnConfiguration)}
			p.mountWritable(t)
			if p.mounts(t, "/etc/envoy/secrets/tls") {
				envoy.Mount(t, filepath.Join(p.Dir, "secrets", "tls"), map[string]string{"tls.crt": certificate, "tls.key": key})
			}
			p.Run(t, envoy.ProxyOptions{External: strings.NewReplacer("/etc/envoy/", p.Dir+"/", " /tmp/", " "+p.Dir+"/tmp/").Replace(string(text))})
			if strings.Contains(string(text), "DownstreamTlsContext") {
				creds := credentials.NewTLS(&tls.Config{RootCAs: ca.Pool(), ServerName: "sonic.example.org"})
				p.Client = envoy.Dial(t, p.Addr(t, "listener_grpc"), grpc.WithTransportCredentials(creds))
			}
			if r := p.infer(t, codes.OK); r.Code != codes.OK {
				t.Errorf("ModelInfer: %v %s", r.Code, r.Message)
			}
			if status, _ := request(t, p.Addr(t, "stats"), "GET", "/ready"); status != http.StatusOK {
				t.Errorf("readiness: %d", status)
			}
		})
	}
}

// mountWritable creates the folders that the container may write to, below the proxy's.
func (p *proxy) mountWritable(t testing.TB) {
	t.Helper()
	for _, mount := range p.Container(t).VolumeMounts {
		if mount.ReadOnly {
			continue
		}
		if err := os.MkdirAll(filepath.Join(p.Dir, mount.MountPath), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *proxy) mounts(t testing.TB, path string) bool {
	t.Helper()
	for _, mount := range p.Container(t).VolumeMounts {
		if mount.MountPath == path {
			return true
		}
	}
	return false
}
