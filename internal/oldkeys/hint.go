package oldkeys

import (
	"slices"
	"strings"
)

// Split returns the parts of a key such as grafana."grafana.ini".auth.
func Split(key string) []string {
	var path []string
	for i, part := range strings.Split(key, `"`) {
		if i%2 == 1 {
			path = append(path, part)
			continue
		}
		for word := range strings.SplitSeq(part, ".") {
			if word != "" {
				path = append(path, word)
			}
		}
	}
	return path
}

// Join is the inverse of Split.
func Join(path []string) string {
	words := make([]string, len(path))
	for i, word := range path {
		if words[i] = word; strings.Contains(word, ".") {
			words[i] = `"` + word + `"`
		}
	}
	return strings.Join(words, ".")
}

// Hint says what replaces a key that the chart does not have or, if it has no row,
// its section. Exact is true if the key itself has a row. The hint is empty for a key
// that no version had.
func Hint(path []string) (hint string, exact bool) {
	for n := len(path); n > 0; n-- {
		for _, r := range slices.Concat(Rows, Sections) {
			if r.Key == Join(path[:n]) && (n == len(path) || len(r.To) == 0) {
				return r.Hint(), n == len(path)
			}
		}
	}
	return "", false
}

// Hint is the part of an error message about the key.
func (r Row) Hint() string {
	var words []string
	switch {
	case r.Dropped:
		words = append(words, "drop it: "+r.Now)
	case len(r.To) > 0:
		words = append(words, "replaced by "+strings.Join(r.To, " and "))
	}
	if r.Now != "" && !r.Dropped {
		words = append(words, r.Now)
	}
	if r.Dropped || len(r.To) > 0 {
		words = append(words, `"supersonic migrate" changes it`)
	}
	return strings.Join(words, "; ")
}
