package render

import (
	"maps"
	"slices"
	"strings"
)

// nearest returns the known key that is most similar to key. It is empty if none is
// similar or begins with it.
func nearest(key string, known map[string]any) string {
	best, least := "", len(key)+1
	for _, name := range slices.Sorted(maps.Keys(known)) {
		a, b := strings.ToLower(key), strings.ToLower(name)
		d := distance(a, b)
		if alike := d < len(a)/3+2 || 3*commonPrefix(a, b) >= 2*len(a); alike && d < least {
			best, least = name, d
		}
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is the Levenshtein distance: the number of insertions, deletions and
// substitutions.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(b)]
}
