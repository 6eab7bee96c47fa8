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
// user meant. They have the form of errors. Values that the schema rejects get none.
func Warnings(c *Loaded, vals map[string]any, o Options) (promql.FieldErrors, error) {
	found, _, err := checks(c, vals, o, warningsName)
	return found, err
}

// checks gives what one of the chart's lists of checks finds, and what the schema
// refuses. If that is anything, the chart checks the other values, as far as they
// can be told apart from the refused ones.
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

// fieldErrors reads what the chart itself finds: one error a line, a key before
// the first colon.
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

// without is vals apart from the invalid ones, which leaves the chart's own in
// their place. A list goes as a whole.
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

// about says whether an error names an invalid key, which the chart saw with its
// own value instead of the user's.
func about(e *promql.FieldError, invalid promql.FieldErrors) bool {
	for _, i := range invalid {
		key, _, _ := strings.Cut(i.Field, "[")
		if regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(key) + `($|[^\w-])`).MatchString(e.Error()) {
			return true
		}
	}
	return false
}
