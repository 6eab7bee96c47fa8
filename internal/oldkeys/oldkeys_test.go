package oldkeys_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/promql"
)

// The error for an old key names its replacement, or that of its section.
func TestUnknownKeySaysReplacement(t *testing.T) {
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range oldkeys.Rows {
		path := oldkeys.Split(row.Key)
		vals := map[string]any{path[len(path)-1]: map[string]any{}}
		for i := len(path) - 2; i >= 0; i-- {
			vals = map[string]any{path[i]: vals}
		}
		_, err := render.Chart(c, vals, render.Options{Release: "sonic", Namespace: "cms"})
		var invalid promql.FieldErrors
		if !errors.As(err, &invalid) {
			t.Errorf("%s: not refused: %v", row.Key, err)
			continue
		}
		told := slices.ContainsFunc(oldkeys.Rows, func(r oldkeys.Row) bool {
			around := r.Key == row.Key || strings.HasPrefix(row.Key, r.Key+".")
			return around && strings.Contains(err.Error(), r.Key+": unknown key; "+r.Hint())
		})
		if !told {
			t.Errorf("%s: got %v", row.Key, err)
		}
	}
}

// Every replacement is a key of the chart.
func TestNewKeysAreKeysOfTheChart(t *testing.T) {
	c, err := render.Load(chart.FS())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range oldkeys.Rows {
		for _, to := range row.To {
			var node any = c.Values
			for _, word := range oldkeys.Split(to) {
				section, _ := node.(map[string]any)
				next, ok := section[word]
				if !ok {
					t.Errorf("%s is replaced by %s, which is not a key of the chart", row.Key, to)
					break
				}
				node = next
			}
		}
	}
}

// A subchart's key without a row gets the hint of its section; a key that no version
// had gets none.
func TestHintOfOtherKeys(t *testing.T) {
	if hint, exact := oldkeys.Hint([]string{"grafana", "sidecar", "dashboards"}); exact || !strings.Contains(hint, "your own Grafana") {
		t.Errorf("grafana.sidecar.dashboards: %q, %t", hint, exact)
	}
	for _, path := range [][]string{{"colour"}, {"triton", "colour"}, {"keda", "colour"}} {
		if hint, exact := oldkeys.Hint(path); exact || hint != "" {
			t.Errorf("%s: %q", oldkeys.Join(path), hint)
		}
	}
}
