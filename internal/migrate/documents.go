package migrate

import (
	"bytes"
	"regexp"

	helmyaml "sigs.k8s.io/yaml"
)

var documentStart = regexp.MustCompile(`(?m)^---(\s|$)`)

// documents counts the YAML documents that are not empty.
func documents(text []byte) int {
	n := 0
	for _, part := range documentStart.Split(string(text), -1) {
		var held any
		if helmyaml.Unmarshal(bytes.TrimSpace([]byte(part)), &held) == nil && held != nil {
			n++
		}
	}
	return n
}
