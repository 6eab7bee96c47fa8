package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		committed, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(committed)); diff != "" {
			t.Errorf("%s is not current: run make generate (-generated +committed):\n%s", name, diff)
		}
	}
}

// run generates from values and types, and returns one of the generated files.
func run(t *testing.T, values, types, file string) (string, error) {
	t.Helper()
	files, err := generate(fstest.MapFS{
		valuesFile: {Data: []byte(values)},
		typesFile:  {Data: []byte(types)},
		readmeFile: {Data: []byte(beginMark + endMark)},
	})
	return string(files[file]), err
}

func TestTable(t *testing.T) {
	got, err := run(t, "# -- One | two\na: \"\"\nb:\n  # -- Three\n  c: {d: 1, e: [x]}\n  f:\n    # -- Four\n    g: null\n",
		"values: {b.c: object, b.f.g: string}", readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	want := beginMark + "\n| key | default | what |\n|---|---|---|\n| `a` | `\"\"` | One \\| two |\n" +
		"\n### b\n\n| key | default | what |\n|---|---|---|\n| `b.c` | `{d: 1, e: [x]}` | Three |\n| `b.f.g` | `null` | Four |\n\n" + endMark
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// Each want is the schema of the value a.
func TestSchemaOfAValue(t *testing.T) {
	for _, tc := range []struct{ name, def, types, want string }{
		{"boolean", `true`, ``, `"type": "boolean"`},
		{"integer", `1`, ``, `"type": "integer"`},
		{"number", `0.5`, ``, `"type": "number"`},
		{"string", `""`, ``, `"type": "string", "maxLength": 65536`},
		{"list", `[x, y]`, ``, `"type": "array", "items": {"type": "string", "maxLength": 65536}, "maxItems": 1000`},
		{"range", `1`, `values: {a: {minimum: 1, maximum: 9}}`, `"type": "integer", "minimum": 1, "maximum": 9`},
		{"enum", `x`, `values: {a: [x, y]}`, `"enum": ["x", "y"]`},
		{"enum-or-null", `null`, `values: {a: [x, y]}`, `"enum": ["x", "y", null]`},
		{"or-null", `null`, `values: {a: integer}`, `"anyOf": [{"type": "integer"}, {"type": "null"}]`},
		{"by-name", `x`, `{types: {word: {pattern: x}}, keys: {a: word}}`, `"$ref": "#/definitions/word"`},
		{
			"or-empty", `""`, `{types: {word: {pattern: x}}, values: {a: word | ""}}`,
			`"anyOf": [{"$ref": "#/definitions/word"}, {"const": ""}]`,
		},
		{
			"closed", `{}`, `values: {a: {properties: {b: string}}}`,
			`"type": "object", "additionalProperties": false, "properties": {"b": {"type": "string", "maxLength": 65536}}`,
		},
		{
			"open", `{}`, `values: {a: object}`,
			`"type": "object", "additionalProperties": {"$ref": "#/definitions/handed1"}, "maxProperties": 1000`,
		},
		{"without-bounds", `{}`, `values: {a: {type: object, additionalProperties: true}}`, `"type": "object", "additionalProperties": true}`},
		{"own-bound", `""`, `values: {a: {maxLength: 9}}`, `"type": "string", "maxLength": 9}`},
		{"list-of-anything", `[]`, `values: {a: array}`, `"type": "array", "maxItems": 1000, "items": {"$ref": "#/definitions/handed1"}`},
		{
			"free-keys", `{}`, `values: {a: {patternProperties: {x: string}, additionalProperties: false}}`,
			`"patternProperties": {"x": {"type": "string", "maxLength": 65536}}, "additionalProperties": false, "maxProperties": 1000`,
		},
		{
			"of-any-depth", `{}`, `values: {a: object}`, `"handed16": { "title": "nested at most 16 levels deep", ` +
				`"type": ["string", "number", "boolean", "null"], "maxLength": 65536 }`,
		},
		{
			"list-of-maps", `[{b: 1}]`, `values: {a: {items: {properties: {b: integer}}}}`,
			`"items": {"type": "object", "additionalProperties": false`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := run(t, "# -- A\na: "+tc.def+"\n", tc.types, schemaFile)
			if err != nil {
				t.Fatal(err)
			}
			if flat := strings.Join(strings.Fields(got), " "); !strings.Contains(flat, tc.want) {
				t.Errorf("want %s in\n%s", tc.want, got)
			}
		})
	}
}

func TestPathWinsOverName(t *testing.T) {
	got, err := run(t, "# -- A\na: 1\nb:\n  # -- A\n  a: x\n", "{keys: {a: [x]}, values: {a: integer}}", schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"default": 1, "type": "integer"`, `"default": "x", "enum": ["x"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
}

// A value is required unless its default is null or empty, or its type includes null. A section is required unless it may
// be removed.
func TestRequiredValues(t *testing.T) {
	got, err := run(t, "# -- A\na: x\n# -- B\nb: null\n# -- C\nc: []\n# -- D\nd: x\ne:\n  # -- F\n  f: x\ng:\n  # -- H\n  h: x\n",
		"values: {g: section | null, b: string, c: {items: string}, d: string | null}", schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"required": ["a", "e"]`; !strings.Contains(got, want) {
		t.Errorf("want %s in\n%s", want, got)
	}
}

const noType = "a: has no type: its default says none, and " + typesFile + " has none for it"

func TestErrors(t *testing.T) {
	for _, tc := range []struct{ name, values, types, want string }{
		{"without-a-comment", "a:\n  # one\n  b: 1\n", ``, valuesFile + `:3: a.b: has no comment that begins with "# -- "`},
		{"null-without-a-type", "# -- A\na: null\n", ``, valuesFile + ":2: " + noType},
		{"empty-without-a-type", "# -- A\na: []\n", ``, valuesFile + ":2: " + noType},
		{"map-without-a-type", "# -- A\na: {b: 1}\n", ``, valuesFile + ":2: " + noType},
		{
			"wrong-default", "# -- A\na: x\n", `values: {a: integer}`,
			valuesFile + ":2: a: its default is not of its type: got string, want integer",
		},
		{
			"default-out-of-range", "# -- A\na: 0\n", `values: {a: {minimum: 1}}`,
			valuesFile + ":2: a: its default is not of its type: minimum: got 0, want 1",
		},
		{"no-such-path", "# -- A\na: 1\n", `values: {b.c: integer}`, typesFile + ": values.b.c: no value of values.yaml has this path"},
		{"path-of-a-section", "a:\n  # -- B\n  b: 1\n", `values: {a: object}`, typesFile + ": values.a: no value of values.yaml has this path"},
		{"no-such-name", "# -- A\na: 1\n", `keys: {b: integer}`, typesFile + ": keys.b: no value of values.yaml needs it"},
		{"unused-type", "# -- A\na: 1\n", `types: {b: {pattern: x}}`, typesFile + ": types.b: nothing uses it"},
		{"no-such-type", "# -- A\na: 1\n", `values: {a: intger}`, typesFile + `: values.a: no type is named "intger"`},
		{"inner-type", "# -- A\na: {}\n", `values: {a: {properties: {b: {minimum: 1}}}}`, typesFile + ": values.a: has no type"},
		{"no-such-word", "# -- A\na: 1\n", `values: {a: {minimun: 1}}`, typesFile + `: values.a: no type is written with "minimun"`},
		{"twice", "# -- A\na: 1\n", "values:\n  a: integer\n  a: number\n", typesFile + ": line 3: a: is there twice"},
		{"unknown-part", "# -- A\na: 1\n", "vlaues: {}", typesFile + ": vlaues: must be types, keys or values"},
		{
			"all-at-once", "# -- B\nb: x\n# -- A\na: null\n", `values: {b: integer, c: string}`,
			valuesFile + ":4: " + noType + "\n" +
				typesFile + ": values.c: no value of values.yaml has this path\n" +
				valuesFile + ":2: b: its default is not of its type: got string, want integer",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := run(t, tc.values, tc.types, schemaFile)
			if err == nil {
				t.Fatal("generated, want an error")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
