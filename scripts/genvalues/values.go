package main

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A value is a key of values.yaml: one that users set, with a comment, or a section.
type value struct {
	path     string // "envoy.drain.port"; empty for the whole file
	key      string // "port"
	pointer  string // JSON pointer to its schema: "/properties/envoy/properties/drain/properties/port"
	comment  string // empty for a section
	node     *yaml.Node
	line     int
	children []*value // of a section, in order
}

// commentMark begins the comment of a key that users set.
const commentMark = "# -- "

// readValues reads values.yaml. A key that is neither commented nor a section is an error.
func readValues(text []byte) (*value, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", valuesFile, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: must be a map", valuesFile)
	}
	top := &value{node: doc.Content[0]}
	return top, top.readChildren()
}

func (v *value) readChildren() error {
	var errs []error
	for i := 0; i < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		child := &value{
			path:    strings.TrimPrefix(v.path+"."+key.Value, "."),
			key:     key.Value,
			pointer: v.pointer + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key.Value),
			comment: comment(key),
			node:    node,
			line:    key.Line,
		}
		v.children = append(v.children, child)
		switch {
		case child.comment != "":
		case node.Kind == yaml.MappingNode && len(node.Content) > 0:
			errs = append(errs, child.readChildren())
		default:
			errs = append(errs, child.errorf("has no comment that begins with %q", commentMark))
		}
	}
	return errors.Join(errs...)
}

// comment returns the last marked line above a key.
func comment(key *yaml.Node) string {
	lines := strings.Split(key.HeadComment, "\n")
	text, ok := strings.CutPrefix(lines[len(lines)-1], commentMark)
	if !ok {
		return ""
	}
	return text
}

func (v *value) section() bool { return len(v.children) > 0 }

// empty reports whether the default is null, {} or [].
func (v *value) empty() bool {
	return v.node.Tag == "!!null" || v.node.Kind != yaml.ScalarNode && len(v.node.Content) == 0
}

// walk calls f for a section and everything in it, from the top.
func (v *value) walk(f func(*value)) {
	f(v)
	for _, child := range v.children {
		child.walk(f)
	}
}

func (v *value) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %w", valuesFile, v.line, v.path, fmt.Errorf(format, args...))
}
