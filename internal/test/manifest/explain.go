package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// explain returns one message for each error of the JSON schema library. It begins with the field's path.
func explain(err error) []error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []error{err}
	}
	return leaves(invalid, message.NewPrinter(language.English))
}

func leaves(e *jsonschema.ValidationError, p *message.Printer) []error {
	at := fieldPath(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return each(k.Properties, at, "unknown field")
	case *kind.Required:
		return each(k.Missing, at, "must be set")
	case *kind.Type:
		return []error{fmt.Errorf("%s: must be %s, got %s", at, strings.Join(k.Want, " or "), k.Got)}
	case *kind.AnyOf, *kind.OneOf:
		return []error{fmt.Errorf("%s: matches none of the forms that it may have", at)}
	}
	if len(e.Causes) == 0 {
		return []error{fmt.Errorf("%s: %s", at, e.ErrorKind.LocalizedString(p))}
	}
	var errs []error
	for _, cause := range e.Causes {
		errs = append(errs, leaves(cause, p)...)
	}
	return errs
}

// each returns an error for each field of the object at a path.
func each(fields []string, at, what string) []error {
	var errs []error
	for _, f := range fields {
		errs = append(errs, fmt.Errorf("%s: %s", join(at, f), what))
	}
	return errs
}

// fieldPath formats a JSON location as Kubernetes does: spec.ports[0].name, metadata.labels[a/b].
func fieldPath(location []string) string {
	at := ""
	for _, key := range location {
		at = join(at, key)
	}
	return at
}

func join(at, key string) string {
	_, err := strconv.Atoi(key)
	if err == nil || strings.ContainsAny(key, "./") {
		return at + "[" + key + "]"
	}
	if at == "" {
		return key
	}
	return at + "." + key
}
