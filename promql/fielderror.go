package promql

import (
	"errors"
	"fmt"
	"strings"
)

// A FieldError is one invalid value: where it is, what it must be and what it is.
type FieldError struct {
	// Field is where the value is, as its user names it: rateInterval,
	// keda.minReplicaCount, --rate-interval. It is empty if the error is not about a single field.
	Field string
	// Err says what the value must be and what it is: "must be at least 1ms, got 0s".
	Err error
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return e.Field + ": " + e.Err.Error()
}

// Unwrap returns the error without the field.
func (e *FieldError) Unwrap() error { return e.Err }

// FieldErrors are all invalid values of one input, in the order in which they
// were found. As an error, it has one line for each.
type FieldErrors []*FieldError

func (es FieldErrors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the individual errors.
func (es FieldErrors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// Err is nil if there are none.
func (es FieldErrors) Err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// Has reports whether one of the errors belongs to the field.
func (es FieldErrors) Has(field string) bool {
	for _, e := range es {
		if e.Field == field {
			return true
		}
	}
	return false
}

// Add adds err as an error of the field, each on its own if it joins several.
// It adds nothing if err is nil.
func (es *FieldErrors) Add(field string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, each := range joined.Unwrap() {
			es.Add(field, each)
		}
	} else if err != nil {
		*es = append(*es, &FieldError{field, err})
	}
}

// AddOthers adds the [FieldErrors] in err, apart from those of fields that have
// an error already, because a value that cannot be read is not checked further. A
// field in names is renamed accordingly.
func (es *FieldErrors) AddOthers(err error, names map[string]string) {
	var others FieldErrors
	errors.As(err, &others)
	had := *es
	for _, e := range others {
		field := e.Field
		if name, ok := names[field]; ok {
			field = name
		}
		if !had.Has(field) {
			es.Add(field, e.Err)
		}
	}
}

// Addf adds an error of the field, as [fmt.Errorf] makes it.
func (es *FieldErrors) Addf(field, format string, args ...any) {
	es.Add(field, fmt.Errorf(format, args...))
}
