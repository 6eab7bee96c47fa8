package node

import (
	"fmt"
	"os"
	"path/filepath"
)

// PauseImage holds a pod's namespaces open.
const PauseImage = "registry.k8s.io/pause:lab"

// configs writes the files that the components read.
func configs(d Dir) error {
	files := map[string]string{
		"containerd.toml": fmt.Sprintf(containerdConfig, d.Run(), PauseImage, d.Host()),
		"cni/lab.conflist": fmt.Sprintf(
			cniConfig, podRange, d.Run("ipam")),
		"kubelet.yaml": fmt.Sprintf(kubeletConfig, d.Run(), hostAddress, DNSAddress),
	}
	for name, text := range files {
		path := d.Run(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Without CAP_SYS_RESOURCE no process can lower its out-of-memory score, and runc
// would fail without restrict_oom_score_adj.
const containerdConfig = `version = 2
root = "%[1]s/containerd"
state = "%[1]s/containerd.state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "%[1]s/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[2]s"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[3]s/usr/lib/cni"
    conf_dir = "%[1]s/cni"
`

const cniConfig = `{"cniVersion": "0.4.0", "name": "lab", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "%s"}]],
            "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "%s"}}]}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {x509: {clientCAFile: "%[1]s/ca.crt"}, anonymous: {enabled: false}}
authorization: {mode: Webhook}
tlsCertFile: "%[1]s/kubelet.crt"
tlsPrivateKeyFile: "%[1]s/kubelet.key"
containerRuntimeEndpoint: "unix://%[1]s/containerd.sock"
volumePluginDir: "%[1]s/volume-plugins"
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
clusterDNS: ["%[3]s"]
clusterDomain: cluster.local
resolvConf: ""
address: "%[2]s"
maxPods: 200
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
`

// containerd, store and so on are the arguments of the node's processes.
func containerd(d Dir) []string {
	return []string{d.Host() + "/usr/bin/containerd", "-c", d.Run("containerd.toml")}
}

func store(d Dir) []string {
	// The data are deleted with the node, so they need not be synced to disk.
	return []string{d.Bin("etcd"), "--data-dir=" + d.Run("etcd"), "--unsafe-no-fsync", "--log-level=error"}
}

func apiServer(d Dir) []string {
	return []string{
		d.Bin("kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=" + hostAddress, "--advertise-address=" + hostAddress,
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + d.Run("sa.pub"),
		"--service-account-signing-key-file=" + d.Run("sa.key"),
		"--tls-cert-file=" + d.Run("api.crt"), "--tls-private-key-file=" + d.Run("api.key"),
		"--client-ca-file=" + d.Run("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--feature-gates=ImageVolume=true", // for models in images; on by default since 1.35
		// KEDA's metrics are served by a pod behind the aggregator.
		"--enable-aggregator-routing=true",
		"--requestheader-client-ca-file=" + d.Run("ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + d.Run("front.crt"), "--proxy-client-key-file=" + d.Run("front.key"),
		"--kubelet-client-certificate=" + d.Run("admin.crt"), "--kubelet-client-key=" + d.Run("admin.key"),
		"--kubelet-certificate-authority=" + d.Run("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
		"--allow-privileged=true",
	}
}

func controllerManager(d Dir) []string {
	return []string{
		d.Bin("kube-controller-manager"), "--kubeconfig=" + d.Kubeconfig(),
		"--service-account-private-key-file=" + d.Run("sa.key"), "--root-ca-file=" + d.Run("ca.crt"),
		"--use-service-account-credentials=true", "--leader-elect=false",
		"--horizontal-pod-autoscaler-sync-period=5s",
	}
}

func scheduler(d Dir) []string {
	return []string{d.Bin("kube-scheduler"), "--kubeconfig=" + d.Kubeconfig(), "--leader-elect=false"}
}

func kubelet(d Dir) []string {
	return []string{
		d.Bin("kubelet"), "--kubeconfig=" + d.Run("kubelet.conf"), "--config=" + d.Run("kubelet.yaml"),
		"--hostname-override=lab", "--node-ip=" + hostAddress, "--root-dir=" + d.Run("kubelet"),
	}
}

// The limits of connection tracking belong to the machine; 0 leaves them unchanged.
func proxy(d Dir) []string {
	return []string{
		d.Bin("kube-proxy"), "--kubeconfig=" + d.Kubeconfig(), "--hostname-override=lab",
		"--proxy-mode=iptables", "--cluster-cidr=" + podRange,
		"--conntrack-max-per-core=0", "--conntrack-min=0",
		"--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
	}
}

// firewall only enforces NetworkPolicies.
func firewall(d Dir) []string {
	return []string{
		d.Bin("kube-router"), "--kubeconfig=" + d.Kubeconfig(), "--hostname-override=lab",
		"--run-firewall=true", "--run-router=false", "--run-service-proxy=false",
		"--service-cluster-ip-range=" + serviceRange,
	}
}
