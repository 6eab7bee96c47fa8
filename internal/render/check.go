package render

import (
	"errors"
	"regexp"
	"strings"

	"github.com/fastmachinelearning/supersonic/promql"
)

const warningsName = "supersonic.warnings"

// Check returns the errors of the chart's schema and of the chart's own checks, as
// [promql.FieldErrors], without rendering the chart.
func Check(c *Loaded, vals map[string]any, o Options) error {
	found, invalid, err := checks(c, vals, o, "supersonic.errors")
	if err != nil {
		return err
	}
	return append(invalid, found...).Err()
}

// Warnings returns the chart's warnings: values that render but may not be what the
// user meant. They have the type of errors. There are none for values that the schema
// rejects.
func Warnings(c *Loaded, vals map[string]any, o Options) (promql.FieldErrors, error) {
	found, _, err := checks(c, vals, o, warningsName)
	return found, err
}

// checks runs the chart's checks for errors or warnings, and returns what they find
// and what the schema rejects. The chart's checks then see its default in place of
// each rejected value.
func checks(c *Loaded, vals map[string]any, o Options, list string) (found, invalid promql.FieldErrors, err error) {
	text, err := Define(c, vals, o, list)
	if !errors.As(err, &invalid) {
		return fieldErrors(text), nil, err
	}
	if len(invalid) > maxUnknown {
		return nil, invalid, nil
	}
	text, err = Define(c, without(vals, invalid), o, list)
	if err != nil {
		return nil, invalid, nil
	}
	for _, e := range fieldErrors(text) {
		if !about(e, invalid) {
			found = append(found, e)
		}
	}
	return found, invalid, nil
}

// fieldErrors parses the findings of the chart's own checks: one a line, with the key
// before the first colon.
func fieldErrors(text string) promql.FieldErrors {
	var errs promql.FieldErrors
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, what, ok := strings.Cut(line, ": ")
		if !ok {
			key, what = "", line
		}
		errs.Add(key, errors.New(what))
	}
	return errs
}

// without returns vals without the invalid ones, so that the chart's defaults take
// their place. A list with an invalid item is removed as a whole.
func without(vals map[string]any, invalid promql.FieldErrors) map[string]any {
	rest := clone(vals).(map[string]any)
	for _, e := range invalid {
		key, _, _ := strings.Cut(e.Field, "[")
		path := splitKey(key)
		last := len(path) - 1
		if last < 0 {
			continue
		}
		if section, ok := lookUp(rest, path[:last]).(map[string]any); ok {
			delete(section, path[last])
		}
	}
	return rest
}

// about reports whether an error is about an invalid key, for which the chart's check
// saw the default instead of the user's value.
func about(e *promql.FieldError, invalid promql.FieldErrors) bool {
	for _, i := range invalid {
		key, _, _ := strings.Cut(i.Field, "[")
		if regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(key) + `($|[^\w-])`).MatchString(e.Error()) {
			return true
		}
	}
	return false
}
