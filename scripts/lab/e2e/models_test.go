package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/images"
)

// Triton loads its models from an object store that speaks S3, with the keys in a Secret.
func TestModelsFromObjectStore(t *testing.T) {
	f := fleet{Release: cluster.Release{Cluster: lab, Name: "sonic", Namespace: "models"}, t: t}
	f.cleanup()
	must(t, lab.Namespace(t.Context(), f.Namespace))
	_, err := lab.Kubectl(t.Context(), "", "--namespace", f.Namespace, "create", "secret", "generic", "store",
		"--from-literal=AWS_ACCESS_KEY_ID=reader", "--from-literal=AWS_SECRET_ACCESS_KEY=the secret of reader")
	must(t, err)
	address := f.objectStore("reader", "the secret of reader")
	must(t, f.Apply(t.Context(), "-f", lab.Values("lab"), "--set", "keda.enabled=false", "--set-json",
		`triton.modelRepository={"enabled":true,"storageType":"s3","s3":{"region":"us-east-1","existingSecret":"store"}}`,
		"--set-json", `triton.args=["--model-repository=s3://`+address+`/models/site","--exit-timeout-secs=20"]`))
	f.firstAnswer(time.Minute)
	f.noRestarts()
}

// objectStore runs an object store on the node, whose bucket named models has the lab's models.
func (f fleet) objectStore(key, secret string) (address string) {
	f.t.Helper()
	must(f.t, lab.Pins.Install(f.t.Context(), "versitygw"))
	root := f.t.TempDir()
	for path, text := range images.ModelFiles() {
		file := filepath.Join(root, "models", "site", path)
		must(f.t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(f.t, os.WriteFile(file, []byte(text), 0o600))
	}
	address = net.JoinHostPort(theNode(f.t).Status.Addresses[0].Address, "9000")
	store := exec.Command(lab.Pins.Path("versitygw", "bin", "versitygw"), "--port", address, "posix", "--sidecar", f.t.TempDir(), root)
	store.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+key, "ROOT_SECRET_KEY="+secret)
	must(f.t, store.Start())
	f.t.Cleanup(func() {
		_ = store.Process.Kill()
		_ = store.Wait()
	})
	f.await(time.Minute, "the object store", func(context.Context) error {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return address
}
