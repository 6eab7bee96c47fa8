package cluster

import (
	"context"
	"fmt"
	"strings"
)

// State is what a person would ask for after a failure in a namespace.
func (c *Cluster) State(ctx context.Context, namespace string) string {
	var s strings.Builder
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"},
		{"get", "deployments,services,endpointslices,networkpolicies"},
		{"describe", "hpa"},
		{"get", "scaledobjects.keda.sh", "-o", "jsonpath={range .items[*]}{.metadata.name}{'\\n'}{.status}{'\\n'}{end}"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, err := c.Kubectl(ctx, "", append([]string{"--namespace", namespace}, args...)...)
		if err != nil {
			out = err.Error()
		}
		fmt.Fprintf(&s, "--- kubectl %s\n%s\n", strings.Join(args, " "), tail(out, 40))
	}
	s.WriteString(c.logs(ctx, namespace))
	out, err := c.Kubectl(ctx, "", "--namespace", "keda", "logs", "deployment/keda-operator", "--tail", "15")
	if err != nil {
		out = err.Error()
	}
	fmt.Fprintf(&s, "--- the end of KEDA's log\n%s\n", out)
	return s.String()
}

// logs are the last lines of every container's log, and of its previous instance.
func (c *Cluster) logs(ctx context.Context, namespace string) string {
	names, err := c.Kubectl(ctx, "", "--namespace", namespace, "get", "pods", "-o", "name")
	if err != nil {
		return err.Error()
	}
	var s strings.Builder
	for name := range strings.FieldsSeq(names) {
		for _, previous := range []string{"false", "true"} {
			out, err := c.Kubectl(ctx, "", "--namespace", namespace, "logs", name,
				"--all-containers", "--tail", "15", "--previous="+previous)
			if err == nil && out != "" {
				fmt.Fprintf(&s, "--- the end of the log of %s, previous=%s\n%s\n", name, previous, out)
			}
		}
	}
	return s.String()
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
