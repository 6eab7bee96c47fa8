package render

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
	"github.com/fastmachinelearning/supersonic/promql"
)

// errors turns a tree of validation errors into one error for each key, in a user's
// terms.
func (s *schema) errors(e *jsonschema.ValidationError, vals any) promql.FieldErrors {
	if what, ok := tooLarge(e.ErrorKind); ok {
		return promql.FieldErrors{fieldError(e.InstanceLocation, what)}
	}
	if titled, ok := s.titled(e, vals); ok {
		return promql.FieldErrors{titled}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return s.alternatives(e, vals)
	}
	if len(e.Causes) > 0 {
		var errs promql.FieldErrors
		for _, cause := range withoutTheRest(e.Causes) {
			errs = append(errs, s.errors(cause, vals)...)
		}
		return errs
	}
	return s.leaf(e, vals)
}

// tooLarge describes a value that exceeds a maximum of the schema: the maximum, and what it has.
func tooLarge(k jsonschema.ErrorKind) (string, bool) {
	switch k := k.(type) {
	case *kind.MaxLength:
		return fmt.Sprintf("must be at most %d characters, got %d", k.Want, k.Got), true
	case *kind.MaxItems:
		return fmt.Sprintf("must be a list of at most %d, got one of %d", k.Want, k.Got), true
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d keys, got %d", k.Want, k.Got), true
	}
	return "", false
}

// withoutTheRest leaves out other errors about values that are too large.
func withoutTheRest(all []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	large := map[string]bool{}
	for _, e := range all {
		if _, ok := tooLarge(e.ErrorKind); ok {
			large[keyName(e.InstanceLocation)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(e *jsonschema.ValidationError) bool {
		_, ok := tooLarge(e.ErrorKind)
		return !ok && large[keyName(e.InstanceLocation)]
	})
}

// titled returns the error for a value whose part of the schema has a title, which
// says what the value must be.
func (s *schema) titled(e *jsonschema.ValidationError, vals any) (*promql.FieldError, bool) {
	switch e.ErrorKind.(type) {
	case *kind.AdditionalProperties, *kind.Required:
		return nil, false
	}
	title, _ := s.at(e.SchemaURL)["title"].(string)
	if title == "" || len(e.InstanceLocation) == 0 || deeper(e) {
		return nil, false
	}
	return mustBe(e.InstanceLocation, vals, title), true
}

// deeper reports whether the error is about a part of the value.
func deeper(e *jsonschema.ValidationError) bool {
	return slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool {
		_, unknown := cause.ErrorKind.(*kind.AdditionalProperties)
		return unknown || len(cause.InstanceLocation) > len(e.InstanceLocation) || deeper(cause)
	})
}

// alternatives returns the errors of a value that matches none of several schemas:
// those of the schema with the value's type or, if there is none, an error that lists
// the types.
func (s *schema) alternatives(e *jsonschema.ValidationError, vals any) promql.FieldErrors {
	var types []string
	for _, cause := range e.Causes {
		wanted := typesWanted(cause, len(e.InstanceLocation))
		if wanted == nil {
			return s.errors(cause, vals)
		}
		types = append(types, wanted...)
	}
	return promql.FieldErrors{mustBe(e.InstanceLocation, vals, typeNames(types))}
}

// typesWanted returns the types that an error requires of the value itself, or nil if
// its type is right.
func typesWanted(e *jsonschema.ValidationError, depth int) []string {
	if t, ok := e.ErrorKind.(*kind.Type); ok && len(e.InstanceLocation) == depth {
		return t.Want
	}
	for _, cause := range e.Causes {
		if wanted := typesWanted(cause, depth); wanted != nil {
			return wanted
		}
	}
	return nil
}

func (s *schema) leaf(e *jsonschema.ValidationError, vals any) promql.FieldErrors {
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return s.unknownKeys(e, k.Properties)
	case *kind.Required:
		var errs promql.FieldErrors
		for _, name := range k.Missing {
			errs = append(errs, fieldError(append(slices.Clone(e.InstanceLocation), name), "must be set"))
		}
		return errs
	case *kind.Type:
		return promql.FieldErrors{mustBe(e.InstanceLocation, vals, typeNames(k.Want))}
	case *kind.Enum:
		var names []string
		for _, v := range k.Want {
			names = append(names, plain(v))
		}
		return promql.FieldErrors{mustBe(e.InstanceLocation, vals, either(names))}
	case *kind.Const:
		return promql.FieldErrors{mustBe(e.InstanceLocation, vals, plain(k.Want))}
	case *kind.Not, *kind.FalseSchema:
		return promql.FieldErrors{fieldError(e.InstanceLocation, "must not be set to "+shown(lookUp(vals, e.InstanceLocation)))}
	}
	return promql.FieldErrors{mustBe(e.InstanceLocation, vals, limit(e.ErrorKind))}
}

// limit describes what a bound of the schema requires.
func limit(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "at least " + decimal(k.Want)
	case *kind.Maximum:
		return "at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "above " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "below " + decimal(k.Want)
	case *kind.MinLength:
		if k.Want == 1 {
			return "a string that is not empty"
		}
		return fmt.Sprintf("at least %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("a list of at least %d", k.Want)
	case *kind.UniqueItems:
		return "a list without doubles"
	case *kind.Pattern:
		return "a string that matches " + k.Want
	}
	return "valid (" + k.LocalizedString(message.NewPrinter(language.English)) + ")"
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func mustBe(path []string, vals any, what string) *promql.FieldError {
	return fieldError(path, "must be "+what+", got "+shown(lookUp(vals, path)))
}

func fieldError(path []string, what string) *promql.FieldError {
	return &promql.FieldError{Field: keyName(path), Err: errors.New(what)}
}

// unknownKeys returns an error for each unknown key, with the first of these hints
// that exists: the replacement of an old key, the most similar known key, the
// replacement of an old section, the schema's comment.
func (s *schema) unknownKeys(e *jsonschema.ValidationError, keys []string) promql.FieldErrors {
	part := s.at(e.SchemaURL)
	known, _ := part["properties"].(map[string]any)
	hint, _ := part["$comment"].(string)
	_, byPattern := part["patternProperties"]
	var errs promql.FieldErrors
	keys = slices.Sorted(slices.Values(keys))
	if more := len(keys) - maxUnknown; more > 0 {
		keys = keys[:maxUnknown]
		at := e.InstanceLocation
		if len(at) == 0 {
			at = []string{"values"}
		}
		errs = append(errs, fieldError(at, fmt.Sprintf("has %d more unknown keys", more)))
	}
	for _, key := range keys {
		path := append(slices.Clone(e.InstanceLocation), key)
		text := "unknown key"
		old, known031 := oldkeys.Hint(path)
		switch near := nearest(key, known); {
		case known031:
			text += "; " + old
		case near != "":
			text += ", did you mean " + near + "?"
		case old != "" && !byPattern:
			text += "; " + old
		case hint != "":
			text += "; " + hint
		}
		errs = append(errs, fieldError(path, text))
	}
	return errs
}

// maxUnknown limits the unknown keys of an object that are named to more than anyone reads.
const maxUnknown = 100

func typeNames(types []string) string {
	var names []string
	for _, known := range []struct {
		jsonType string
		names    []string
	}{
		{"object", []string{"an object"}},
		{"array", []string{"a list"}},
		{"integer", []string{"an integer"}},
		{"number", []string{"a number"}},
		{"string", []string{"a string"}},
		{"boolean", []string{"true", "false"}},
		{"null", []string{"null"}},
	} {
		if slices.Contains(types, known.jsonType) {
			names = append(names, known.names...)
		}
	}
	return either(names)
}

func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// plain formats a value of the schema as a user would write it in YAML.
func plain(v any) string {
	if text, ok := v.(string); ok && text != "" {
		return text
	}
	return shown(v)
}
