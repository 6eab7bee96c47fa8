package chart_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// A bound lists what the schema accepts and rejects for some values.
type bound struct{ Takes, Refuses, Of []any }

func bounds(t *testing.T) map[string]bound {
	t.Helper()
	text, err := os.ReadFile("testdata/bounds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []bound
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	of := map[string]bound{}
	for _, b := range all {
		for _, path := range b.Of {
			if _, twice := of[path.(string)]; twice {
				t.Errorf("testdata/bounds.yaml: %s comes twice", path)
			}
			of[path.(string)] = b
		}
	}
	return of
}

// The schema accepts values just inside each bound, and rejects values just outside.
func TestBounds(t *testing.T) {
	doc, check := schema(t)
	table := bounds(t)
	for path, b := range table {
		for _, v := range b.Takes {
			if refused(t, check, path, repeated(v)) {
				t.Errorf("%s: %#v is refused", path, v)
			}
		}
		for _, v := range b.Refuses {
			if !refused(t, check, path, repeated(v)) {
				t.Errorf("%s: %#v is taken", path, v)
			}
		}
	}
	bounded := map[string]bool{}
	eachBound(doc, doc, "", func(path string, part map[string]any) {
		bounded[path] = true
		b := table[path]
		for _, v := range inside(part) {
			if !slices.ContainsFunc(b.Takes, func(other any) bool { return reflect.DeepEqual(v, other) }) {
				t.Errorf("testdata/bounds.yaml: %s: %#v, at the bound, is not among what is taken", path, v)
			}
		}
		if len(b.Takes) == 0 || len(b.Refuses) == 0 {
			t.Errorf("testdata/bounds.yaml: %s has no line with what is taken and what is refused", path)
		}
	})
	for path := range table {
		if !bounded[path] {
			t.Errorf("%s: the schema has no bound for it", path)
		}
	}
}

// schema returns the chart's schema, parsed as JSON and compiled.
func schema(t *testing.T) (doc map[string]any, check *jsonschema.Schema) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(manifest.Chart(t).Schema)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("values.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	check, err = compiler.Compile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return parsed.(map[string]any), check
}

// refused reports whether the schema rejects a value at a path, ignoring missing keys.
func refused(t *testing.T, check *jsonschema.Schema, path string, value any) bool {
	t.Helper()
	keys := strings.Split(strings.ReplaceAll(path, "[0]", ".0"), ".")
	for _, key := range slices.Backward(keys) {
		if key == "0" {
			value = []any{value}
		} else {
			value = map[string]any{key: value}
		}
	}
	all, err := render.Values(manifest.Chart(t), value.(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	var invalid *jsonschema.ValidationError
	return errors.As(check.Validate(all), &invalid) && concerns(invalid, keys)
}

func concerns(e *jsonschema.ValidationError, keys []string) bool {
	return len(e.InstanceLocation) >= len(keys) && slices.Equal(e.InstanceLocation[:len(keys)], keys) ||
		slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return concerns(cause, keys) })
}

var repetition = regexp.MustCompile(`^(.)\{(\d+)\}$`)

// repeated expands a{15} to fifteen a.
func repeated(v any) any {
	m := repetition.FindStringSubmatch(fmt.Sprint(v))
	if m == nil {
		return v
	}
	number, _ := strconv.Atoi(m[2])
	return strings.Repeat(m[1], number)
}

// limits holds the keywords of JSON Schema that bound a value.
var limits = []string{
	"minimum", "maximum", "exclusiveMinimum", "enum", "const", "pattern", "minLength", "maxLength", "minItems", "uniqueItems",
	"minProperties",
}

// anyString is the bound of every string, which the generator of the schema adds and tests.
const anyString = json.Number("65536")

// eachBound calls visit with each part of the schema that bounds a value, and the path of the value, except for values
// that are passed through to Kubernetes.
func eachBound(doc, part map[string]any, path string, visit func(string, map[string]any)) {
	if ref, ok := part["$ref"].(string); ok && !strings.Contains(ref, "/handed") {
		named := doc["definitions"].(map[string]any)[strings.TrimPrefix(ref, "#/definitions/")]
		eachBound(doc, named.(map[string]any), path, visit)
	}
	if slices.ContainsFunc(limits, func(word string) bool { return part[word] != nil && part[word] != anyString }) {
		visit(strings.TrimPrefix(path, "."), part)
	}
	below := func(of any, path string) {
		if schema, ok := of.(map[string]any); ok {
			eachBound(doc, schema, path, visit)
		}
	}
	options, _ := part["anyOf"].([]any)
	for _, option := range options {
		below(option, path)
	}
	properties, _ := part["properties"].(map[string]any)
	for key, of := range properties {
		below(of, path+"."+key)
	}
	byPattern, _ := part["patternProperties"].(map[string]any)
	for _, of := range byPattern {
		below(of, path+".a")
	}
	below(part["items"], path+"[0]")
	below(part["additionalProperties"], path+".a")
}

// inside returns the accepted values at a bound.
func inside(part map[string]any) (at []any) {
	members, _ := part["enum"].([]any)
	for _, v := range append([]any{part["minimum"], part["maximum"], part["const"]}, members...) {
		if number, ok := v.(json.Number); ok {
			v, _ = number.Float64()
		}
		if v != nil {
			at = append(at, v)
		}
	}
	return at
}
