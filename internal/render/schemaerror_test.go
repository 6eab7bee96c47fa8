package render_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

// A chart of every kind of bound that a schema can set.
const everyBound = `{
  "type": "object", "additionalProperties": false, "required": ["needed"], "$comment": "the docs say more",
  "properties": {
    "needed": {},
    "count": {"type": "integer", "minimum": 1, "maximum": 9},
    "above": {"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1},
    "mode": {"enum": ["", "fast", 3, null]},
    "fixed": {"const": "this"},
    "name": {"type": "string", "minLength": 1, "maxLength": 3},
    "long": {"type": "string", "minLength": 2},
    "code": {"pattern": "^[a-z]$"},
    "words": {"title": "a word", "type": "string", "pattern": "^[a-z]+$", "maxLength": 6},
    "list": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {"type": "string"}},
    "either": {
      "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "%$"}, {"type": "null"}, {"type": "array", "maxItems": 2}]
    },
    "map": {
      "type": "object", "maxProperties": 2,
      "additionalProperties": {"additionalProperties": {"title": "nested at most 2 levels deep", "type": "string"}}
    },
    "flag": {"type": ["boolean", "null"]},
    "gone": false,
    "step": {"multipleOf": 2},
    "table": {"type": "object", "additionalProperties": false, "properties": {"stabilizationWindowSeconds": {}, "a.b": {"type": "string"}}}
  }
}`

func chartOf(t *testing.T, schema string) *render.Loaded {
	t.Helper()
	c, err := render.Load(fstest.MapFS{
		"Chart.yaml":         {Data: []byte("apiVersion: v2\nname: bounds\nversion: 1.0.0\n")},
		"values.schema.json": {Data: []byte(schema)},
		"templates/all.yaml": {Data: []byte("kind: List\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Errors of the schema are in the user's words.
func TestSchemaErrors(t *testing.T) {
	c := chartOf(t, everyBound)
	for _, tc := range []struct{ name, values, want string }{
		{"missing", `{}`, "needed: must be set"},
		{"minimum", `count: 0`, "count: must be at least 1, got 0"},
		{"maximum", `count: 10`, "count: must be at most 9, got 10"},
		{"no-integer", `count: 1.5`, "count: must be an integer, got 1.5"},
		{"exclusive-minimum", `above: 0.5`, "above: must be above 0.5, got 0.5"},
		{"exclusive-maximum", `above: 1`, "above: must be below 1, got 1"},
		{"enum", `mode: slow`, `mode: must be "", fast, 3 or null, got "slow"`},
		{"const", `fixed: that`, `fixed: must be this, got "that"`},
		{"empty", `name: ""`, `name: must be a string that is not empty, got ""`},
		{"too-long", `name: abcd`, `name: must be at most 3 characters, got 4`},
		{"too-short", `long: a`, `long: must be at least 2 characters, got "a"`},
		{"pattern", `code: AB`, `code: must be a string that matches ^[a-z]$, got "AB"`},
		{"title", `words: 12`, "words: must be a word, got 12"},
		{"title-of-a-pattern", `words: A`, `words: must be a word, got "A"`},
		{"empty-list", `list: []`, "list: must be a list of at least 1, got a list"},
		{"long-list", `list: [a, b, c]`, "list: must be a list of at most 2, got one of 3"},
		{"titled-and-too-long", `words: A234567`, `words: must be at most 6 characters, got 7`},
		{"long-list-of-any-type", `either: [1, 2, 3]`, "either: must be a list of at most 2, got one of 3"},
		{"many-keys", `map: {a: 1, b: 2, c: 3}`, "map: must have at most 2 keys, got 3"},
		{"deep", `map: {a: {b: {}}}`, "map.a.b: must be nested at most 2 levels deep, got an object"},
		{"doubles", `list: [a, a]`, "list: must be a list without doubles, got a list"},
		{"in-a-list", `list: [a, {b: 1}]`, "list[1]: must be a string, got an object"},
		{"no-type-fits", `either: true`, "either: must be a list, an integer, a string or null, got true"},
		{"a-type-fits", `either: -1`, "either: must be at least 0, got -1"},
		{"types", `flag: "yes"`, `flag: must be true, false or null, got "yes"`},
		{"forbidden", `gone: 1`, "gone: must not be set to 1"},
		{"any-other-bound", `step: 3`, "step: must be valid (multipleOf: got 3, want 2), got 3"},
		{"unknown", `cuont: 1`, "cuont: unknown key, did you mean count?"},
		{"unknown-and-unlike", `zzz: 1`, "zzz: unknown key; the docs say more"},
		{"unknown-inside", `table: {stabilizationWindow: 1}`, "table.stabilizationWindow: unknown key, did you mean stabilizationWindowSeconds?"},
		{"dotted-key", `table: {a.b: 1}`, `table."a.b": must be a string, got 1`},
		{
			"long-value", `code: "` + strings.Repeat("ä", 92) + `"`,
			`code: must be a string that matches ^[a-z]$, got "` + strings.Repeat("ä", 80) + `…"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vals := manifest.Values(t, tc.values)
			if tc.name != "missing" {
				vals["needed"] = true
			}
			_, err := render.Chart(c, vals, manifest.Options)
			var invalid promql.FieldErrors
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want FieldErrors", err)
			}
			if diff := cmp.Diff(tc.want, invalid.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenSchema(t *testing.T) {
	_, err := render.Chart(chartOf(t, `{"type": 1}`), nil, manifest.Options)
	var invalid promql.FieldErrors
	if err == nil || errors.As(err, &invalid) {
		t.Errorf("got %v, want an error of the chart", err)
	}
}
