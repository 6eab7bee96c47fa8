package values

import (
	"fmt"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

// reader converts an untyped tree of values to typed values, and collects the invalid ones.
type reader struct {
	vals map[string]any
	errs promql.FieldErrors
}

func (r *reader) value(key string) any {
	var node any = r.vals
	for word := range strings.SplitSeq(key, ".") {
		m, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = m[word]
	}
	return node
}

func (r *reader) set(key string) bool { return r.value(key) != nil }

// on reports whether a switch is true.
func (r *reader) on(key string) bool { return r.value(key) == true }

// str returns an empty string if the key is not set.
func (r *reader) str(key string) string {
	switch v := r.value(key).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		r.errs.Addf(key, "must be a string, got %v", v)
		return ""
	}
}

func (r *reader) number(key string) float64 {
	switch v := r.value(key).(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case nil:
		r.errs.Addf(key, "must be a number, got null")
	default:
		r.errs.Addf(key, "must be a number, got %v", v)
	}
	return 0
}

// strings returns nil if the key is not set or contains something else than strings.
func (r *reader) strings(key string) []string {
	v := r.value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		r.errs.Addf(key, "must be a list, got %v", v)
	}
	var found []string
	valid := true
	for i, item := range list {
		s, ok := item.(string)
		if !ok {
			r.errs.Addf(fmt.Sprintf("%s[%d]", key, i), "must be a string, got %v", item)
		}
		valid = valid && ok
		found = append(found, s)
	}
	if !valid {
		return nil
	}
	return found
}

func (r *reader) duration(key string) time.Duration {
	text := r.str(key)
	if r.errs.Has(key) {
		return 0
	}
	d, err := promql.ParseDuration(text)
	r.errs.Add(key, err)
	return d
}

func (r *reader) query(key, text string) promql.Query {
	q, err := promql.Parse(text)
	r.errs.Add(key, err)
	return q
}

// selector reads the matchers of a key, and returns otherwise if there are none.
func (r *reader) selector(key string, otherwise promql.Selector) promql.Selector {
	s, err := promql.ParseSelector(r.str(key))
	r.errs.Add(key, err)
	return s.Or(otherwise)
}
