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

// Whoever sets an old key is told what took its place: of the key itself, or of the
// section around it that is gone as a whole.
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

// What a key is now is a key of the chart.
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
					t.Errorf("%s is said to be %s, which is no key of the chart", row.Key, to)
					break
				}
				node = next
			}
		}
	}
}

// A key of a subchart without a row has what is done in place of its section; a
// key that no version had has nothing.
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
