package render

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A schema is a chart's values.schema.json, both compiled and parsed as JSON, for its
// titles and descriptions.
type schema struct {
	compiled *jsonschema.Schema
	doc      any
}

const schemaURL = "file:///values.schema.json"

func compileSchema(text []byte) (*schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	return &schema{compiled, doc}, err
}

// check returns [promql.FieldErrors] if values do not match the schema.
func (c *Loaded) check(vals map[string]any) error {
	if c.Schema == nil {
		return nil
	}
	s, err := c.schema()
	if err != nil {
		return fmt.Errorf("chart: values.schema.json: %w", err)
	}
	err = s.compiled.Validate(vals)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	errs := s.errors(invalid, vals)
	slices.SortStableFunc(errs, func(a, b *promql.FieldError) int { return strings.Compare(a.Field, b.Field) })
	errs = slices.CompactFunc(errs, func(a, b *promql.FieldError) bool { return a.Error() == b.Error() })
	if more := len(errs) - maxErrors; more > 0 {
		errs = errs[:maxErrors]
		errs.Addf("values", "have %d more errors", more)
	}
	return errs
}

// maxErrors limits the reported errors to more than anyone reads.
const maxErrors = 1000

// at returns the part of the schema that a validation error points to.
func (s *schema) at(url string) map[string]any {
	_, pointer, _ := strings.Cut(url, "#")
	node := lookUp(s.doc, jsonPointer(pointer))
	part, _ := node.(map[string]any)
	return part
}

func jsonPointer(text string) []string {
	if text == "" {
		return nil
	}
	words := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for i, w := range words {
		words[i] = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%").Replace(w)
	}
	return words
}

// lookUp returns the value at a path, or nil.
func lookUp(v any, path []string) any {
	for _, word := range path {
		switch node := v.(type) {
		case map[string]any:
			v = node[word]
		case []any:
			i, err := strconv.Atoi(word)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}
