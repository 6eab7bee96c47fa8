// Package build makes the lab's programs from Go modules.
package build

import "strings"

// Versions of what is built. KEDA's images and manifests go by the same.
const (
	Kubernetes = "1.34.2"
	KEDA       = "2.21.0"
	prometheus = "0.316.0" // the module's version of Prometheus 3.16
	etcd       = "3.6.5"
	coreDNS    = "1.12.1"
	helm       = "3.22.0"
)

// A program is one binary of the lab.
type program struct {
	version string
	source  string // the folder under src that its module is made in
	module  string // what that module requires, without version
	pkg     string // its main package
	main    string // text of the main package, where upstream's cannot be built from outside
}

// programs by name. Those of one source share a module.
var programs = map[string]program{
	"kube-apiserver":          kubernetes("kube-apiserver", "NewAPIServerCommand()"),
	"kube-controller-manager": kubernetes("kube-controller-manager", "NewControllerManagerCommand()"),
	"kube-scheduler":          kubernetes("kube-scheduler", "NewSchedulerCommand()"),
	"kubelet":                 kubernetes("kubelet", "NewKubeletCommand(context.Background())"),
	"kube-proxy":              kubernetes("kube-proxy", "NewProxyCommand()"),
	"kubectl": {
		version: Kubernetes, source: "kubernetes", module: kubernetesModule, pkg: "./kubectl",
		main: mainOf("k8s.io/kubectl/pkg/cmd", "cmd.NewDefaultKubectlCommand()"),
	},
	"keda-operator": {version: KEDA, source: "keda", module: kedaModule, pkg: kedaModule + "/cmd/operator"},
	"keda-adapter":  {version: KEDA, source: "keda", module: kedaModule, pkg: kedaModule + "/cmd/adapter"},
	"etcd": {
		version: etcd, source: "etcd", module: "go.etcd.io/etcd/server/v3", pkg: "go.etcd.io/etcd/server/v3",
	},
	"coredns": {
		version: coreDNS, source: "coredns", module: "github.com/coredns/coredns", pkg: "github.com/coredns/coredns",
	},
	"helm":       {version: helm, source: "helm", module: "helm.sh/helm/v3", pkg: "helm.sh/helm/v3/cmd/helm"},
	"prometheus": prometheusProgram("prometheus"),
	"promtool":   prometheusProgram("promtool"),
}

const (
	kubernetesModule = "k8s.io/kubernetes"
	kedaModule       = "github.com/kedacore/keda/v2"
)

func kubernetes(name, command string) program {
	return program{
		version: Kubernetes, source: "kubernetes", module: kubernetesModule, pkg: "./" + name,
		main: mainOf("k8s.io/kubernetes/cmd/"+name+"/app", "app."+command),
	}
}

func prometheusProgram(name string) program {
	const module = "github.com/prometheus/prometheus"
	return program{version: prometheus, source: "prometheus", module: module, pkg: module + "/cmd/" + name}
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
