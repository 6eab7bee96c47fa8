package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// An object is a JSON object with ordered members.
type object []member

type member struct {
	name  string
	value any
}

func (o object) get(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

func (o object) has(names ...string) bool {
	for _, name := range names {
		if _, ok := o.get(name); ok {
			return true
		}
	}
	return false
}

// decode converts a YAML value to JSON: an object, an []any or a scalar.
func decode(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return decode(n.Alias)
	case yaml.MappingNode:
		o := object{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if o.has(key.Value) {
				return nil, fmt.Errorf("line %d: %s: is there twice", key.Line, key.Value)
			}
			v, err := decode(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.Value, v})
		}
		return o, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := decode(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	var v any
	err := n.Decode(&v)
	return v, err
}

// maxLine is the width, in characters, above which a value of the schema is broken into lines.
const maxLine = 120

// printJSON writes a value with an indentation, after `used` characters of the line.
func printJSON(b *bytes.Buffer, v any, indent string, used int) {
	line := oneLine(v)
	if len(indent)+used+len(line) <= maxLine {
		b.WriteString(line)
		return
	}
	inner := indent + "  "
	switch v := v.(type) {
	case object:
		b.WriteString("{")
		for i, m := range v {
			name := oneLine(m.name) + ": "
			b.WriteString(separator(i) + inner + name)
			printJSON(b, m.value, inner, len(name)+len(","))
		}
		b.WriteString("\n" + indent + "}")
	case []any:
		b.WriteString("[")
		for i, item := range v {
			b.WriteString(separator(i) + inner)
			printJSON(b, item, inner, len(","))
		}
		b.WriteString("\n" + indent + "]")
	default:
		b.WriteString(line)
	}
}

func separator(i int) string {
	if i == 0 {
		return "\n"
	}
	return ",\n"
}

func oneLine(v any) string {
	var parts []string
	switch v := v.(type) {
	case object:
		for _, m := range v {
			parts = append(parts, oneLine(m.name)+": "+oneLine(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, oneLine(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only .inf and .nan have no JSON form, and no default is one
	}
	return strings.TrimSuffix(b.String(), "\n")
}
