package values

import (
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/promql"
)

// reader takes typed values out of a tree of untyped ones and collects faults.
type reader struct {
	vals map[string]any
	bad  map[string]bool // keys that have a fault already
	errs []error
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

// on says whether a switch is set to true.
func (r *reader) on(key string) bool { return r.value(key) == true }

// text is empty where the key is not set.
func (r *reader) text(key string) string {
	switch v := r.value(key).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		r.fault(key, "must be a text, got %v", v)
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
		r.fault(key, "must be a number, got null")
	default:
		r.fault(key, "must be a number, got %v", v)
	}
	return 0
}

func (r *reader) texts(key string) []string {
	v := r.value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		r.fault(key, "must be a list, got %v", v)
	}
	var texts []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			r.fault(key, "must be a list of texts, got %v in it", item)
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

func (r *reader) duration(key string) time.Duration {
	text := r.text(key)
	if r.bad[key] {
		return 0
	}
	d, err := promql.ParseDuration(text)
	if err != nil {
		r.fault(key, "%w", err)
	}
	return d
}

func (r *reader) query(key, text string) promql.Query {
	q, err := promql.Parse(text)
	if err != nil {
		r.fault(key, "%w", err)
	}
	return q
}

// selector sets s where the key holds any matcher; empty braces hold none.
func (r *reader) selector(key string, s *promql.Selector) {
	text := strings.TrimSpace(r.text(key))
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	if strings.TrimSpace(inner) == "" {
		return
	}
	parsed, err := promql.ParseSelector(text)
	if err != nil {
		r.fault(key, "%w", err)
		return
	}
	*s = parsed
}
