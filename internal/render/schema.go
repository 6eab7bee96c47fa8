package render

import (
	"bytes"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const url = "file:///values.schema.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(url, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(url)
}

// checkSchema says what in the values is not as the chart's schema wants it.
func (c *Loaded) checkSchema(vals map[string]any) error {
	if c.schema == nil {
		return nil
	}
	return c.schema.Validate(vals)
}
