// Package build makes the lab's programs from Go modules.
package build

import (
	"embed"

	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

// Versions of programs that only the lab needs. All others are pinned in scripts/tools/versions.txt.
const (
	CoreDNS    = "1.13.2"
	etcd       = "3.6.5"
	kubeRouter = "2.1.0"
)

const (
	labModule        = "github.com/fastmachinelearning/supersonic/scripts/lab"
	kubernetesModule = "k8s.io/kubernetes"
	kedaModule       = "github.com/kedacore/keda/v2"
)

// A program is one binary of the lab.
type program struct {
	name, version string
	pkg           string   // its main package in its source
	links         []string // the names that it is started by
}

// A source is a main module in which several programs are built, so that what they share is compiled once. Its go.mod is
// a copy of the upstream module's, because Go ignores the replacements of other modules.
type source struct {
	name, module, version string
	requires              []string // further modules, with versions
	programs              []program
}

// mains are the main packages that are not upstream's.
//
//go:embed all:_mains
var mains embed.FS

// sources in the order to build them in.
func sources(pins tools.Set) []source {
	k8s, keda := pins.Version("kubernetes-1.34"), pins.Version("keda")
	one := func(name, version, pkg string) program { return program{name, version, pkg, []string{name}} }
	return []source{
		{
			name: "node", module: kubernetesModule, version: k8s,
			requires: []string{
				"go.etcd.io/etcd/server/v3@v" + etcd, "github.com/coredns/coredns@v" + CoreDNS,
				"github.com/cloudnativelabs/kube-router/v2@v" + kubeRouter,
			},
			programs: []program{
				{"kubernetes", k8s, "./kubernetes", []string{
					"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet",
				}},
				one("kubectl", k8s, "./kubectl"), one("etcd", etcd, "./etcd"),
				one("coredns", CoreDNS, "./coredns"), one("kube-router", kubeRouter, "./kube-router"),
			},
		},
		{
			name: "keda", module: kedaModule, version: keda,
			programs: []program{one("keda-operator", keda, "./cmd/operator"), one("keda-adapter", keda, "./cmd/adapter")},
		},
	}
}
