package promql_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/promql"
)

// TestConceptsQueries compares the PromQL that users read with what
// they get.
func TestConceptsQueries(t *testing.T) {
	var want []string
	for _, build := range []func(promql.Params) (promql.Query, error){promql.NeededReplicas, promql.OccupancyRatio} {
		q, err := build(promql.ForRelease("sonic", "cms"))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, strings.TrimSpace(q.Pretty()))
	}
	var got []string
	for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)\n```").FindAllStringSubmatch(readFile(t, "../docs/concepts.md"), -1) {
		got = append(got, block[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/concepts.md, PromQL (-want +got):\n%s", diff)
	}
}
