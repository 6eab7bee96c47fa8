package chart_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// A party is a pod, or an address outside the cluster.
type party struct {
	name      string
	namespace string // empty outside the cluster
	labels    map[string]string
	address   string
	ports     []string // "8001", and "53/UDP" for another protocol than TCP
}

// parties returns the pods of the manifests, by component.
func parties(t *testing.T, m render.Manifests) []party {
	t.Helper()
	var found []party
	add := func(labels map[string]string, containers []corev1.Container) {
		e := party{name: labels["app.kubernetes.io/component"], namespace: manifest.Options.Namespace, labels: labels}
		for _, p := range containers[0].Ports {
			e.ports = append(e.ports, fmt.Sprint(p.ContainerPort))
		}
		found = append(found, e)
	}
	for _, d := range all[appsv1.Deployment](t, m, "Deployment") {
		add(d.Spec.Template.Labels, d.Spec.Template.Spec.Containers)
	}
	for _, p := range all[corev1.Pod](t, m, "Pod") {
		add(p.Labels, p.Spec.Containers)
	}
	return found
}

// flows returns the connections that the policies of both ends allow, as "FROM TO:PORT", sorted.
func flows(policies []networkingv1.NetworkPolicy, ends []party) []string {
	var open []string
	for _, from := range ends {
		for _, to := range ends {
			for _, port := range to.ports {
				if from.name != to.name && leaves(policies, from, to, port) && enters(policies, from, to, port) {
					open = append(open, fmt.Sprintf("%s %s:%s", from.name, to.name, port))
				}
			}
		}
	}
	slices.Sort(open)
	return open
}

func leaves(policies []networkingv1.NetworkPolicy, from, to party, port string) bool {
	restricted := false
	for _, p := range policies {
		if !selects(p, from) || !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			continue
		}
		restricted = true
		for _, rule := range p.Spec.Egress {
			if opens(rule.Ports, port) && names(rule.To, p.Namespace, to) {
				return true
			}
		}
	}
	return !restricted
}

func enters(policies []networkingv1.NetworkPolicy, from, to party, port string) bool {
	restricted := false
	for _, p := range policies {
		if !selects(p, to) || !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		restricted = true
		for _, rule := range p.Spec.Ingress {
			if opens(rule.Ports, port) && names(rule.From, p.Namespace, from) {
				return true
			}
		}
	}
	return !restricted
}

func selects(p networkingv1.NetworkPolicy, e party) bool {
	return e.namespace == p.Namespace && matches(&p.Spec.PodSelector, e.labels)
}

// opens reports whether a rule's ports, which are numbers, include one. No ports means all.
func opens(ports []networkingv1.NetworkPolicyPort, port string) bool {
	number, protocol, _ := strings.Cut(port, "/")
	if protocol == "" {
		protocol = "TCP"
	}
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		return p.Port.String() == number && string(*p.Protocol) == protocol
	})
}

// names reports whether a rule's peers, in a policy of a namespace, include the party. No peers means everybody.
func names(peers []networkingv1.NetworkPolicyPeer, namespace string, e party) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			address, err := netip.ParseAddr(e.address)
			return err == nil && netip.MustParsePrefix(p.IPBlock.CIDR).Contains(address)
		case e.namespace == "":
			return false
		case p.NamespaceSelector != nil:
			of := map[string]string{"kubernetes.io/metadata.name": e.namespace}
			return matches(p.NamespaceSelector, of) && (p.PodSelector == nil || matches(p.PodSelector, e.labels))
		}
		return e.namespace == namespace && matches(p.PodSelector, e.labels)
	})
}

func matches(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}
