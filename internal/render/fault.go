package render

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Fault is one thing that is wrong with the values.
type Fault struct {
	Key  string // as a user writes it: keda.minReplicaCount, triton.env[0].name; empty for all of them
	Text string // what it must be and what it is: "must be at least 0, got -1"
}

func (f Fault) Error() string {
	if f.Key == "" {
		return f.Text
	}
	return f.Key + ": " + f.Text
}

// Faults are all that is wrong with the values, in the order of the keys or of
// the chart's checks.
type Faults []Fault

func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// faultLines reads the chart's own faults: one a line, a key before the first colon.
func faultLines(text string) Faults {
	var fs Faults
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, what, ok := strings.Cut(line, ": ")
		if !ok {
			key, what = "", line
		}
		fs = append(fs, Fault{key, what})
	}
	return fs
}

// keyName writes a path into the values as users do; numbers are places in lists.
func keyName(path []string) string {
	var b strings.Builder
	for i, word := range path {
		switch {
		case isPlace(word) && i > 0:
			fmt.Fprintf(&b, "[%s]", word)
			continue
		case i > 0:
			b.WriteByte('.')
		}
		if strings.Contains(word, ".") {
			fmt.Fprintf(&b, "%q", word)
			continue
		}
		b.WriteString(word)
	}
	return b.String()
}

func isPlace(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// shown writes a value for a message: short, on one line.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		if r := []rune(v); len(r) > maxShown {
			v = string(r[:maxShown]) + "…"
		}
		return fmt.Sprintf("%q", v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// maxShown is the length of a string, in characters, that a message quotes.
const maxShown = 80
