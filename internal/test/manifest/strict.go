package manifest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/api/resource"
)

const quantity = "quantity"

// strict turns an OpenAPI schema, in place, into a JSON schema without unknown fields. It follows the keywords of the
// structure, and leaves alone allOf, anyOf, oneOf and not, which describe parts of a value.
func strict(s map[string]any) {
	properties := members(s, "properties")
	for _, p := range properties {
		strict(p.(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner := members(s, key); inner != nil {
			strict(inner)
		}
	}
	_, open := s["additionalProperties"]
	if properties != nil && !open && s["x-kubernetes-preserve-unknown-fields"] != true {
		s["additionalProperties"] = false
	}
	if s["x-kubernetes-int-or-string"] == true || s["format"] == "int-or-string" {
		delete(s, "anyOf")
		delete(s, "oneOf")
		s["type"] = []any{"integer", "string"}
	}
	if kind, ok := s["type"].(string); ok && s["nullable"] == true {
		s["type"] = []any{kind, "null"}
	}
}

// formats returns the formats of OpenAPI and Kubernetes that JSON schema does not have.
func formats() []*jsonschema.Format {
	return []*jsonschema.Format{
		{Name: quantity, Validate: checkQuantity},
		{Name: "int32", Validate: func(v any) error { return checkInteger(v, 32) }},
		{Name: "int64", Validate: func(v any) error { return checkInteger(v, 64) }},
		{Name: "byte", Validate: func(v any) error {
			s, ok := v.(string)
			if !ok {
				return nil // another check reports the type
			}
			_, err := base64.StdEncoding.DecodeString(s)
			return err
		}},
	}
}

func checkQuantity(v any) error {
	switch v := v.(type) {
	case string:
		_, err := resource.ParseQuantity(v)
		return err
	case json.Number:
		_, err := resource.ParseQuantity(v.String())
		return err
	}
	return fmt.Errorf("must be a string or a number")
}

func checkInteger(v any, bits int) error {
	n, ok := v.(json.Number)
	if !ok {
		return nil // another check reports the type
	}
	_, err := strconv.ParseInt(n.String(), 10, bits)
	return err
}
