package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// checkDefaults compares each default with its part of the schema.
func checkDefaults(values *value, schema object) error {
	const url = "file:///values.schema.json"
	compiler := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(oneLine(schema)))
	if err != nil {
		return err
	}
	if err := compiler.AddResource(url, doc); err != nil {
		return err
	}
	if _, err := compiler.Compile(url); err != nil {
		return fmt.Errorf("%s: %w", typesFile, err)
	}
	var errs []error
	values.walk(func(v *value) {
		if v.section() {
			return
		}
		part, err := compiler.Compile(url + "#" + v.pointer)
		if err == nil {
			err = check(part, v)
		}
		if err != nil {
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

func check(part *jsonschema.Schema, v *value) error {
	def, err := decode(v.node)
	if err != nil {
		return v.errorf("%w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(oneLine(def)))
	if err != nil {
		return v.errorf("%w", err)
	}
	var invalid *jsonschema.ValidationError
	if errors.As(part.Validate(instance), &invalid) {
		return v.errorf("its default is not of its type: %s", strings.Join(reasons(invalid), ", "))
	}
	return nil
}

// reasons returns the messages of the innermost errors.
func reasons(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
	}
	var all []string
	for _, cause := range e.Causes {
		all = append(all, reasons(cause)...)
	}
	return all
}
