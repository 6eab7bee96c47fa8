package chart_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// Every selector selects the pods of its own component, and every Service port is one of theirs.
func TestSelectors(t *testing.T) {
	const component = "app.kubernetes.io/component"
	m := manifest.Render(t, everyPart+`
envoy: {replicas: 3, ingress: {enabled: true, hostName: sonic.example.org}}
triton: {podDisruptionBudget: {enabled: true}}
`)
	pods := map[string]corev1.PodTemplateSpec{}
	for _, d := range all[appsv1.Deployment](t, m, "Deployment") {
		pods[d.Labels[component]] = d.Spec.Template
	}
	selects := func(what string, of, selector map[string]string) {
		for name, pod := range pods {
			if got := labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)); got != (name == of[component]) {
				t.Errorf("%s of %s selects the pods of %s: %t", what, of[component], name, got)
			}
		}
	}
	services := all[corev1.Service](t, m, "Service")
	for _, s := range services {
		selects("Service", s.Labels, s.Spec.Selector)
		var ports []corev1.ContainerPort
		for _, c := range pods[s.Labels[component]].Spec.Containers {
			ports = append(ports, c.Ports...)
		}
		for _, p := range s.Spec.Ports {
			if !slices.ContainsFunc(ports, func(c corev1.ContainerPort) bool {
				return p.TargetPort.StrVal == c.Name && c.Name != "" || p.TargetPort.IntVal == c.ContainerPort
			}) {
				t.Errorf("Service %s: port %s leads to %s, which no container has", s.Name, p.Name, p.TargetPort.String())
			}
		}
		if s.Spec.PublishNotReadyAddresses {
			t.Errorf("Service %s: replicas that load their models, or are about to end, get calls", s.Name)
		}
	}
	budgets := all[policyv1.PodDisruptionBudget](t, m, "PodDisruptionBudget")
	for _, b := range budgets {
		selects("PodDisruptionBudget", b.Labels, b.Spec.Selector.MatchLabels)
	}
	if len(pods) < 7 || len(services) < 7 || len(budgets) != 2 {
		t.Errorf("%d Deployments, %d Services, %d budgets: the test sees too few", len(pods), len(services), len(budgets))
	}
}

// A replica that never becomes ready does not prevent the drain of its node.
func TestDisruptionBudget(t *testing.T) {
	m := manifest.Render(t, "triton: {podDisruptionBudget: {enabled: true}}")
	policy := manifest.Object[policyv1.PodDisruptionBudget](t, m, "triton/poddisruptionbudget.yaml").Spec.UnhealthyPodEvictionPolicy
	if policy == nil || *policy != policyv1.AlwaysAllow {
		t.Errorf("unhealthyPodEvictionPolicy is %v, want AlwaysAllow", policy)
	}
}

// Only Prometheus has rights in Kubernetes: to list the pods of its own namespace.
func TestRights(t *testing.T) {
	m := manifest.Render(t, everyPart)
	roles := all[rbacv1.Role](t, m, "Role")
	bindings := all[rbacv1.RoleBinding](t, m, "RoleBinding")
	wide := len(all[rbacv1.ClusterRole](t, m, "ClusterRole")) + len(all[rbacv1.ClusterRoleBinding](t, m, "ClusterRoleBinding"))
	if len(roles) != 1 || len(bindings) != 1 || wide > 0 {
		t.Fatalf("%d roles and %d bindings, want one of each, and none of a whole cluster, got %d", len(roles), len(bindings), wide)
	}
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}}
	if diff := cmp.Diff(want, roles[0].Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if b := bindings[0]; b.RoleRef.Kind != "Role" || b.RoleRef.Name != roles[0].Name || b.Namespace != "cms" || roles[0].Namespace != "cms" {
		t.Errorf("the binding is of %v in %s, the role in %s", b.RoleRef, b.Namespace, roles[0].Namespace)
	}
	subject := bindings[0].Subjects
	for _, d := range all[appsv1.Deployment](t, m, "Deployment") {
		account := d.Spec.Template.Spec.ServiceAccountName
		if bound := len(subject) == 1 && subject[0].Name == account; bound != (d.Name == "sonic-prometheus") {
			t.Errorf("Deployment %s has the account %q, the rights are those of %v", d.Name, account, subject)
		}
	}
}

// A rollout may take as long as a replica needs to stop and another one to load its models.
func TestProgressDeadline(t *testing.T) {
	for values, want := range map[string]int32{
		"": 600 + 115 + 300,
		"triton: {startupProbe: {initialDelaySeconds: 7, periodSeconds: 5, failureThreshold: 400}}": 2007 + 115 + 300,
		"triton: {terminationGracePeriodSeconds: 1000}":                                             600 + 1000 + 300,
		"triton: {startupProbe: {reset: true}, drain: {sleepSeconds: 100}}":                         600 + 175 + 300,
	} {
		d, _ := triton(t, manifest.Render(t, values))
		if got := d.Spec.ProgressDeadlineSeconds; got == nil || *got != want {
			t.Errorf("%q: progressDeadlineSeconds is %v, want %d", values, got, want)
		}
	}
}
