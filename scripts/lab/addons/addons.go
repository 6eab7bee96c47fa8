// Package addons installs DNS and KEDA.
package addons

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fastmachinelearning/supersonic/scripts/lab/node"
)

//go:embed dns.yaml
var dns string

//go:embed keda.yaml
var keda string

// Install applies DNS and KEDA and returns when both are ready. kedaConfig is the
// folder of manifests in KEDA's module.
func Install(ctx context.Context, d node.Dir, coreDNS, kedaVersion, kedaConfig string, say func(string)) error {
	say("name service")
	if err := apply(ctx, d, "-f", "dns/dns.yaml", strings.ReplaceAll(dns, "VERSION", coreDNS)); err != nil {
		return err
	}
	say("KEDA")
	base, err := filepath.Rel(d.Run("keda"), kedaConfig)
	if err != nil {
		return err
	}
	text := strings.NewReplacer("BASE", base, "VERSION", kedaVersion).Replace(keda)
	if err := apply(ctx, d, "-k", "keda/kustomization.yaml", text); err != nil {
		return err
	}
	for _, what := range [][]string{
		{"--for=condition=Available", "-n", "kube-system", "deployment/coredns"},
		{"--for=condition=Available", "-n", "keda", "deployment", "--all"},
		{"--for=condition=Available", "apiservice/v1beta1.external.metrics.k8s.io"},
	} {
		if err := kubectl(ctx, d, append([]string{"wait", "--timeout=180s"}, what...)...); err != nil {
			return err
		}
	}
	return nil
}

// apply writes a manifest below run and applies it, as a file, or as a folder with -k.
func apply(ctx context.Context, d node.Dir, flag, name, text string) error {
	path := d.Run(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if flag == "-k" {
		path = filepath.Dir(path)
	}
	return kubectl(ctx, d, "apply", "--server-side", "--force-conflicts", flag, path)
}

func kubectl(ctx context.Context, d node.Dir, args ...string) error {
	out, err := d.Command(ctx, "kubectl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
