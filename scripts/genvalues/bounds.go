package main

import (
	"fmt"
	"slices"
)

// Bounds that no real values exceed. They limit the time of checking values, which grows with their size.
const (
	maxLength     = 65536 // characters of a string
	maxItems      = 1000  // of a list
	maxProperties = 1000  // keys of an object with arbitrary keys
	maxDepth      = 16    // levels of objects that are passed through to Kubernetes, Grafana and the collector
)

// handed is the type of a value of any kind that a template passes through.
const handed = "handed"

// bounded adds a bound to each string, list and object that has none, also in nested schemas. Objects whose
// additionalProperties are true are left alone, because no template reads them.
func bounded(s object) object {
	var out object
	for _, m := range s {
		out = append(out, member{m.name, boundedPart(m)})
	}
	of, _ := out.get("type")
	kinds, ok := of.([]any)
	if !ok {
		kinds = []any{of}
	}
	add := func(name string, value any) {
		if !out.has(name, "enum") {
			out = append(out, member{name, value})
		}
	}
	if slices.Contains(kinds, any("string")) {
		add("maxLength", maxLength)
	}
	if slices.Contains(kinds, any("array")) {
		add("maxItems", maxItems)
		add("items", handedRef(1))
	}
	if slices.Contains(kinds, any("object")) {
		add("additionalProperties", handedRef(1))
		if others, _ := out.get("additionalProperties"); others != true && (others != false || out.has("patternProperties")) {
			add("maxProperties", maxProperties)
		}
	}
	return out
}

// boundedPart adds bounds to the schemas in a member of a schema.
func boundedPart(m member) any {
	switch m.name {
	case "items", "additionalProperties":
		if s, ok := m.value.(object); ok {
			return bounded(s)
		}
	case "properties", "patternProperties", "definitions":
		var all object
		for _, p := range m.value.(object) {
			all = append(all, member{p.name, boundedPart(member{"items", p.value})})
		}
		return all
	case "anyOf":
		var all []any
		for _, s := range m.value.([]any) {
			all = append(all, boundedPart(member{"items", s}))
		}
		return all
	}
	return m.value
}

func handedRef(level int) object {
	return object{{"$ref", fmt.Sprintf("#/definitions/%s%d", handed, level)}}
}

// handedDefinitions returns the schemas of values that are passed through, one for each level, because a schema can't
// count levels.
func handedDefinitions() object {
	var all object
	for level := 1; level < maxDepth; level++ {
		all = append(all, member{fmt.Sprint(handed, level), object{
			{"maxLength", maxLength},
			{"maxItems", maxItems},
			{"items", handedRef(level + 1)},
			{"maxProperties", maxProperties},
			{"additionalProperties", handedRef(level + 1)},
		}})
	}
	title := fmt.Sprintf("nested at most %d levels deep", maxDepth)
	return append(all, member{fmt.Sprint(handed, maxDepth), object{
		{"title", title}, {"type", []any{"string", "number", "boolean", "null"}}, {"maxLength", maxLength},
	}})
}
