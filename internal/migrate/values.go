package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	helmyaml "sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
)

func split(key string) []string { return oldkeys.Split(key) }

func sibling(path []string, name string) []string {
	return append(append([]string{}, path[:len(path)-1]...), name)
}

// lookUp returns the value at a path, or nil.
func lookUp(vals map[string]any, path []string) any {
	var v any = vals
	for _, word := range path {
		m, _ := v.(map[string]any)
		v = m[word]
	}
	return v
}

func has(vals map[string]any, path []string) bool {
	m, ok := lookUp(vals, path[:len(path)-1]).(map[string]any)
	if len(path) == 1 {
		m, ok = vals, true
	}
	_, there := m[path[len(path)-1]]
	return ok && there
}

func put(vals map[string]any, path []string, value any) {
	for _, word := range path[:len(path)-1] {
		next, ok := vals[word].(map[string]any)
		if !ok {
			next = map[string]any{}
			vals[word] = next
		}
		vals = next
	}
	vals[path[len(path)-1]] = copied(value)
}

func drop(vals map[string]any, path []string) {
	if m, ok := lookUp(vals, path[:len(path)-1]).(map[string]any); ok {
		delete(m, path[len(path)-1])
	}
	if len(path) == 1 {
		delete(vals, path[0])
	}
}

func shift(vals map[string]any, from, to []string) {
	value := lookUp(vals, from)
	drop(vals, from)
	put(vals, to, value)
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			out[k] = copied(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = copied(item)
		}
		return out
	case int:
		return float64(v)
	}
	return v
}

// withoutEmpty leaves out empty maps, which do not change the chart's defaults.
func withoutEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, item := range m {
		item = withoutEmpty(item)
		if inner, ok := item.(map[string]any); ok && len(inner) == 0 {
			continue
		}
		out[k] = item
	}
	return out
}

// merged returns a overridden by b, as Helm merges values.
func merged(a, b map[string]any) map[string]any {
	out := copied(a).(map[string]any)
	for k, v := range b {
		over, isMap := v.(map[string]any)
		under, wasMap := out[k].(map[string]any)
		if isMap && wasMap {
			out[k] = merged(under, over)
			continue
		}
		out[k] = copied(v)
	}
	return out
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9/][-A-Za-z0-9_./]*(:[-A-Za-z0-9_./]+)*$`)

// plainOrQuoted formats a string as YAML.
func plainOrQuoted(text string) string {
	var read any
	if plainWord.MatchString(text) && helmyaml.Unmarshal([]byte(text), &read) == nil && read == text {
		return text
	}
	if strings.Contains(text, `"`) && !strings.Contains(text, "'") {
		return quoted(text, '\'')
	}
	return quoted(text, '"')
}

// quoted formats a string with the given kind of quotes, if they can hold it.
func quoted(text string, quote byte) string {
	double, err := json.Marshal(text)
	if quote == '\'' && !strings.Contains(text, "\n") || err != nil || strings.Contains(string(double), `\u`) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return string(double)
}

func flowKey(key string) string { return plainOrQuoted(key) }

// flowText formats a value on one line, without quotes where none are needed.
func flowText(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var words []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			words = append(words, flowKey(k)+": "+flowText(v[k]))
		}
		return "{" + strings.Join(words, ", ") + "}"
	case []any:
		var words []string
		for _, item := range v {
			words = append(words, flowText(item))
		}
		return "[" + strings.Join(words, ", ") + "]"
	case string:
		return plainOrQuoted(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
