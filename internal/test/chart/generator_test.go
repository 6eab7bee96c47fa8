package chart_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A generator makes random values that the schema mostly accepts.
type generator struct {
	*rand.Rand
	schema map[string]any
}

// randomStrings are strings that mean something in YAML, Go templates, Lua, PromQL, INI or Kubernetes.
var randomStrings = []string{
	"", "null", "~", "true", "1", "0x1", "y", "a", "http", "grpc", "{{ .Release.Name }}", "{{ fail `x` }}", "<no value>",
	"a: b", "a #b", "- a", "|", ">", "%", "@a", "&a", "*a", "!!binary aGk=", "'", `"`, `\`, "]]", "]==]", "--[[", "$(A)", "${A}",
	"a\nb", "a\n---\nkind: Secret\nmetadata: {name: a}", "\n...\n", " a", "a ", "\ta", "a\rb", "a\x00b", "a\x1bb", "a\u0085b", "a\u2028b",
	"\ufeffa", "é", "κ", "a/b", "../a", "a.b", "-a", "A", "a_b", "[a]\nb = c", "a=b,c=d", `a="b"`, `{a="b"}`, "sum(up)", "1m", "1e9", "1Gi",
	"100m", "0", "-1", "sonic-triton", "kube-system", "https://a.example.org", "s3://a/b", "a:9000", "[::1]:1", "a@sha256:" +
		"1111111111111111111111111111111111111111111111111111111111111111",
}

const startingValues = `
keda: {enabled: true}
prometheus: {enabled: true}
`

// values changes one to eight places of a working values file.
func (g generator) values() map[string]any {
	vals := map[string]any{}
	if err := yaml.Unmarshal([]byte(startingValues), &vals); err != nil {
		panic(err)
	}
	for range 1 + g.IntN(8) {
		g.change(vals, g.schema, 0)
	}
	// As it is read from a file.
	text, err := json.Marshal(vals)
	if err != nil {
		panic(err)
	}
	vals = map[string]any{}
	if err := json.Unmarshal(text, &vals); err != nil {
		panic(err)
	}
	return vals
}

// change goes down one path of the schema, and sets what is there.
func (g generator) change(vals, schema map[string]any, depth int) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 {
		return
	}
	key := g.key(properties)
	child := g.resolve(properties[key])
	_, section := child["properties"]
	if inner, ok := vals[key].(map[string]any); ok && section {
		g.change(inner, child, depth+1)
		return
	}
	if section && depth < 4 {
		inner := map[string]any{}
		g.change(inner, child, depth+1)
		vals[key] = inner
		return
	}
	vals[key] = g.value(child, depth)
}

func (g generator) key(of map[string]any) string {
	keys := make([]string, 0, len(of))
	for k := range of {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys[g.IntN(len(keys))]
}

// resolve follows references, and chooses one of several alternatives.
func (g generator) resolve(node any) map[string]any {
	schema, _ := node.(map[string]any)
	for {
		if ref, ok := schema["$ref"].(string); ok {
			definitions := g.schema["definitions"].(map[string]any)
			schema, _ = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
			continue
		}
		if some, ok := schema["anyOf"].([]any); ok && schema["properties"] == nil {
			schema, _ = some[g.IntN(len(some))].(map[string]any)
			continue
		}
		return schema
	}
}

// value is a random value for a schema: one in ten is of any type.
func (g generator) value(schema map[string]any, depth int) any {
	if g.IntN(10) == 0 || depth > 8 {
		return g.anything(3)
	}
	if enum, ok := schema["enum"].([]any); ok {
		return enum[g.IntN(len(enum))]
	}
	if def, ok := schema["default"]; ok && g.IntN(4) == 0 {
		return def
	}
	switch g.kind(schema) {
	case "boolean":
		return g.IntN(2) == 0
	case "integer":
		return []int{0, 1, 2, 3, 10, 60, 1000, 65535, 1 << 20, -1}[g.IntN(10)]
	case "number":
		return []float64{0, 0.5, 1, 2, 2.5, 100, 1e6}[g.IntN(7)]
	case "string":
		return randomStrings[g.IntN(len(randomStrings))]
	case "array":
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(g.resolve(schema["items"]), depth+1))
		}
		return list
	case "object":
		return g.object(schema, depth)
	case "null":
		return nil
	}
	return g.anything(3)
}

// kind is one of the types that a schema names.
func (g generator) kind(schema map[string]any) string {
	switch types := schema["type"].(type) {
	case string:
		return types
	case []any:
		return types[g.IntN(len(types))].(string)
	}
	return ""
}

func (g generator) object(schema map[string]any, depth int) map[string]any {
	object := map[string]any{}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range required {
		object[key.(string)] = g.value(g.resolve(properties[key.(string)]), depth+1)
	}
	for range g.IntN(3) {
		if len(properties) > 0 && g.IntN(4) > 0 {
			key := g.key(properties)
			object[key] = g.value(g.resolve(properties[key]), depth+1)
			continue
		}
		free, _ := schema["additionalProperties"].(map[string]any)
		if free != nil || properties == nil {
			object[randomStrings[g.IntN(len(randomStrings))]] = g.value(g.resolve(free), depth+1)
		}
	}
	return object
}

// anything is a value of any type.
func (g generator) anything(depth int) any {
	switch n := g.IntN(8); {
	case n == 0 && depth > 0:
		return map[string]any{randomStrings[g.IntN(len(randomStrings))]: g.anything(depth - 1)}
	case n == 1 && depth > 0:
		return []any{g.anything(depth - 1), g.anything(depth - 1)}
	case n == 2:
		return nil
	case n == 3:
		return g.IntN(100)
	case n == 4:
		return g.IntN(2) == 0
	case n == 5:
		return 1.5
	}
	return randomStrings[g.IntN(len(randomStrings))]
}
