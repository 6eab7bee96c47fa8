package render

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// ScaledObject is the part of KEDA's ScaledObject with the queries.
type ScaledObject struct {
	Spec struct {
		Triggers []Trigger `json:"triggers"`
	} `json:"spec"`
}

// Trigger is one metric of a ScaledObject.
type Trigger struct {
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	MetricType string            `json:"metricType"`
	Metadata   map[string]string `json:"metadata"`
}

const scaledObjectFile = "keda/scaledobject.yaml"

// ScaledObject parses the rendered ScaledObject. It exists only if KEDA is enabled.
func (m Manifests) ScaledObject() (ScaledObject, error) {
	var s ScaledObject
	text, ok := m[scaledObjectFile]
	if !ok {
		return s, fmt.Errorf("%s: not rendered", scaledObjectFile)
	}
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("%s: %w", scaledObjectFile, err)
	}
	return s, nil
}

// ScaledObjectQuery returns the query that sizes the fleet, from the first trigger.
func (m Manifests) ScaledObjectQuery() (string, error) {
	s, err := m.ScaledObject()
	if err != nil {
		return "", err
	}
	if len(s.Spec.Triggers) == 0 || s.Spec.Triggers[0].Metadata["query"] == "" {
		return "", fmt.Errorf("%s: the first trigger has no query", scaledObjectFile)
	}
	return s.Spec.Triggers[0].Metadata["query"], nil
}

// query = [==[…]==] of the gate's configuration; Lua drops a first newline.
var gateQuery = regexp.MustCompile(`(?s)\bquery = \[(=*)\[\n?(.*?)\](=*)\]`)

// GateQuery returns the query in the configuration of Envoy's gate.
func (m Manifests) GateQuery() (string, error) {
	for name, text := range m {
		if !strings.HasPrefix(name, "envoy/") || !strings.Contains(text, "query = [") {
			continue
		}
		var configMap struct {
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(text), &configMap); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		for _, data := range configMap.Data {
			if q := gateQuery.FindStringSubmatch(data); q != nil && q[1] == q[3] {
				return q[2], nil
			}
		}
	}
	return "", fmt.Errorf("envoy: no gate with a query is rendered")
}

// Notes returns what Helm prints after an installation.
func (m Manifests) Notes() string { return m["NOTES.txt"] }
