package render

import (
	"encoding/json"
	"fmt"
	"strings"
)

// keyName formats a path into the values as users write it; numbers are indices of lists.
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

// shown formats a value for a message, shortened to one line.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
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

// maxShown is the maximum length of a quoted string, in characters.
const maxShown = 80
