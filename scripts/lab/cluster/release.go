package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Release is one installation of the chart.
type Release struct {
	*Cluster
	Name      string
	Namespace string
}

// Namespace creates a namespace that enforces the restricted Pod Security Standard.
func (c *Cluster) Namespace(ctx context.Context, name string) error {
	_, err := c.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// RemoveNamespace removes a namespace and waits until everything in it is gone.
func (c *Cluster) RemoveNamespace(ctx context.Context, name string) error {
	err := c.Kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return Await(ctx, 3*time.Minute, "end of namespace "+name, func(ctx context.Context) error {
		_, err := c.Kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("is still there")
		}
		return err
	})
}

// Apply installs the release with helm or upgrades it, and waits until every
// object is ready. The arguments are helm's: -f FILE, --set KEY=VALUE.
func (r Release) Apply(ctx context.Context, args ...string) error {
	if err := r.Cluster.Namespace(ctx, r.Namespace); err != nil {
		return err
	}
	all := append([]string{
		"upgrade", "--install", r.Name, r.Chart(), "--namespace", r.Namespace,
		"--wait", "--timeout", "4m",
	}, args...)
	_, err := r.Helm(ctx, all...)
	return err
}

// Uninstall removes the release and waits until its pods are gone.
func (r Release) Uninstall(ctx context.Context) error {
	_, err := r.Helm(ctx, "uninstall", r.Name, "--namespace", r.Namespace, "--ignore-not-found", "--wait", "--timeout", "4m")
	if err != nil {
		return err
	}
	return Await(ctx, 3*time.Minute, "end of the pods", func(ctx context.Context) error {
		pods, err := r.AllPods(ctx, "")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d are still there, %s among them", len(pods), pods[0].Name)
		}
		return err
	})
}

// AllPods are the pods of one component of the release, or of all, including
// terminating ones.
func (r Release) AllPods(ctx context.Context, component string) ([]corev1.Pod, error) {
	selector := "app.kubernetes.io/instance=" + r.Name
	if component != "" {
		selector += ",app.kubernetes.io/component=" + component
	}
	list, err := r.Kube.CoreV1().Pods(r.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Address is host:port of a Service, by number, for a process of the node.
func (r Release) Address(ctx context.Context, service, port string) (string, error) {
	s, err := r.Kube.CoreV1().Services(r.Namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, p := range s.Spec.Ports {
		if p.Name == port {
			return fmt.Sprintf("%s:%d", s.Spec.ClusterIP, p.Port), nil
		}
	}
	return "", fmt.Errorf("service %s: no port named %s", service, port)
}
