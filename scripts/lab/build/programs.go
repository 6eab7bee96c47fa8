// Package build makes the lab's programs from Go modules.
package build

import (
	"strings"

	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// Versions of what only the lab needs; the others are the repository's pins.
const (
	CoreDNS    = "1.12.1"
	etcd       = "3.6.5"
	kubeRouter = "2.1.0"
)

// A program is one binary of the lab.
type program struct {
	version string
	source  string // the folder under src that its module is made in
	module  string // what that module requires, without version
	pkg     string // its main package
	main    string // text of the main package, where upstream's cannot be built from outside
}

const (
	kubernetesModule = "k8s.io/kubernetes"
	kedaModule       = "github.com/kedacore/keda/v2"
	kubeRouterModule = "github.com/cloudnativelabs/kube-router/v2"
)

// programs by name, and the order to build them in. Those of one source share
// a module.
func programs(pins tools.Set) ([]string, map[string]program) {
	k8s, keda := pins.Version("kubernetes-1.34"), pins.Version("keda")
	all := map[string]program{
		"kubectl": {
			version: k8s, source: "kubernetes", module: kubernetesModule, pkg: "./kubectl",
			main: mainOf("k8s.io/kubectl/pkg/cmd", "cmd.NewDefaultKubectlCommand()"),
		},
		"keda-operator": {version: keda, source: "keda", module: kedaModule, pkg: "./cmd/operator"},
		"keda-adapter":  {version: keda, source: "keda", module: kedaModule, pkg: "./cmd/adapter"},
		"etcd": {
			version: etcd, source: "etcd", module: "go.etcd.io/etcd/server/v3", pkg: "go.etcd.io/etcd/server/v3",
		},
		"coredns": {
			version: CoreDNS, source: "coredns", module: "github.com/coredns/coredns", pkg: "github.com/coredns/coredns",
		},
		"kube-router": {
			version: kubeRouter, source: "kube-router", module: kubeRouterModule, pkg: kubeRouterModule + "/cmd/kube-router",
		},
	}
	for name, command := range map[string]string{
		"kube-apiserver":          "NewAPIServerCommand()",
		"kube-controller-manager": "NewControllerManagerCommand()",
		"kube-scheduler":          "NewSchedulerCommand()",
		"kubelet":                 "NewKubeletCommand(context.Background())",
		"kube-proxy":              "NewProxyCommand()",
	} {
		all[name] = program{
			version: k8s, source: "kubernetes", module: kubernetesModule, pkg: "./" + name,
			main: mainOf("k8s.io/kubernetes/cmd/"+name+"/app", "app."+command),
		}
	}
	return []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
		"etcd", "coredns", "kube-router", "keda-operator", "keda-adapter",
	}, all
}

// mainOf is a main package that runs a command of Kubernetes.
func mainOf(pkg, command string) string {
	imports := []string{`"os"`, "", `"k8s.io/component-base/cli"`, `"` + pkg + `"`}
	if strings.Contains(command, "context.") {
		imports = append([]string{`"context"`}, imports...)
	}
	return "package main\n\nimport (\n\t" + strings.Join(imports, "\n\t") + "\n)\n\n" +
		"func main() { os.Exit(cli.Run(" + command + ")) }\n"
}
