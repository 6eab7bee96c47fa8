package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// types holds the parts of values.types.yaml, whose first lines explain the format.
type types struct {
	named  object          // types by name
	keys   object          // types of values by the last part of their path
	values object          // types of values by path
	used   map[string]bool // names, keys and paths that have been used
}

// words are the keywords of JSON Schema that a type may contain.
var words = []string{
	"title", "type", "enum", "minimum", "maximum", "exclusiveMinimum", "pattern", "minLength", "maxLength", "items", "minItems",
	"uniqueItems", "properties", "patternProperties", "additionalProperties", "minProperties", "required", "$comment",
}

// ofJSON are the types of JSON Schema.
var ofJSON = []string{"null", "boolean", "integer", "number", "string", "object", "array"}

func readTypes(text []byte) (*types, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", typesFile, err)
	}
	t := &types{used: map[string]bool{}}
	if len(doc.Content) == 0 {
		return t, nil
	}
	v, err := decode(doc.Content[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", typesFile, err)
	}
	parts, _ := v.(object)
	var errs []error
	for _, part := range parts {
		into, ok := map[string]*object{"types": &t.named, "keys": &t.keys, "values": &t.values}[part.name]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %s: must be types, keys or values", typesFile, part.name))
			continue
		}
		if *into, ok = part.value.(object); !ok {
			errs = append(errs, fmt.Errorf("%s: %s: must be a map", typesFile, part.name))
		}
	}
	return t, errors.Join(errs...)
}

// removable reports whether a user may remove a section with null.
func (t *types) removable(section *value) bool {
	written, _ := t.values.get(section.path)
	return written == "section | null"
}

// find returns the type of a value as it is in the file, and the entry that defines it.
func (t *types) find(v *value) (written any, entry string) {
	if written, ok := t.values.get(v.path); ok {
		return written, "values." + v.path
	}
	if written, ok := t.keys.get(v.key); ok {
		return written, "keys." + v.key
	}
	return nil, ""
}

// schema converts a type in the file to JSON Schema, with the implied type if it has
// none.
func (t *types) schema(written any, implied string) (any, error) {
	switch written := written.(type) {
	case string:
		return t.alternatives(written)
	case []any:
		return object{{"enum", written}}, nil
	case bool:
		return written, nil
	case object:
		return t.expand(written, implied)
	}
	return nil, fmt.Errorf("must be a type, got %v", written)
}

// alternatives returns the schema of types separated by " | ".
func (t *types) alternatives(text string) (any, error) {
	var all []any
	var errs []error
	parts := strings.Split(text, " | ")
	for _, word := range parts {
		switch {
		case word == `""`:
			all = append(all, object{{"const", ""}})
		case word == handed:
			all = append(all, handedRef(1))
		case slices.Contains(ofJSON, word):
			all = append(all, object{{"type", word}})
		case t.named.has(word):
			t.used[word] = true
			all = append(all, object{{"$ref", "#/definitions/" + word}})
		default:
			errs = append(errs, fmt.Errorf("no type is named %q", word))
		}
	}
	switch {
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	case len(parts) == 1:
		return all[0], nil
	}
	return object{{"anyOf", all}}, nil
}

// expand converts JSON Schema that refers to types to complete JSON Schema.
func (t *types) expand(written object, implied string) (any, error) {
	var errs []error
	sub := func(v any) any {
		s, err := t.schema(v, "")
		errs = append(errs, err)
		return s
	}
	full := object{}
	if !written.has("type", "enum") {
		of := impliedType(written, implied)
		if of == "" {
			errs = append(errs, errors.New("has no type"))
		}
		full = append(full, member{"type", of})
	}
	if written.has("properties") && !written.has("additionalProperties") {
		full = append(full, member{"additionalProperties", false})
	}
	for _, m := range written {
		if !slices.Contains(words, m.name) {
			errs = append(errs, fmt.Errorf("no type is written with %q", m.name))
		}
		switch m.name {
		case "items", "additionalProperties":
			m.value = sub(m.value)
		case "properties", "patternProperties":
			var all object
			of, _ := m.value.(object)
			for _, p := range of {
				all = append(all, member{p.name, sub(p.value)})
			}
			m.value = all
		}
		full = append(full, m)
	}
	return full, errors.Join(errs...)
}

// impliedType returns the type that the keywords of JSON Schema imply, or else other.
func impliedType(written object, other string) string {
	switch {
	case written.has("items"):
		return "array"
	case written.has("properties", "patternProperties", "additionalProperties", "minProperties"):
		return "object"
	case written.has("pattern"):
		return "string"
	}
	return other
}

// definitions returns the schemas of all named types.
func (t *types) definitions() (object, error) {
	var all object
	var errs []error
	for _, m := range t.named {
		s, err := t.schema(m.value, "")
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: types.%s: %w", typesFile, m.name, err))
			s = true
		}
		all = append(all, member{m.name, s})
	}
	return append(all, handedDefinitions()...), errors.Join(errs...)
}

// cutNull removes null from a type's alternatives, and reports whether it was there.
func cutNull(written any) (rest any, cut bool) {
	switch written := written.(type) {
	case string:
		parts := strings.Split(written, " | ")
		others := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "null" })
		return strings.Join(others, " | "), len(others) < len(parts)
	case []any:
		others := slices.DeleteFunc(slices.Clone(written), func(v any) bool { return v == nil })
		return others, len(others) < len(written)
	}
	return written, false
}

// hasNull reports whether a named type accepts null.
func (t *types) hasNull(written any) bool {
	name, _ := written.(string)
	named, _ := t.named.get(name)
	o, _ := named.(object)
	of, _ := o.get("type")
	list, _ := of.([]any)
	return slices.Contains(list, "null")
}
