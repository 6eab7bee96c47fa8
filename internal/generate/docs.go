package generate

import (
	"fmt"
	"strings"

	"github.com/fastmachinelearning/supersonic/promql"
)

// Docs are the pages that hold a table of the queries, from the repository's
// folder, and what the table shows.
func Docs() map[string]func() string {
	return map[string]func() string{"docs/command.md": commandTable, "docs/observing.md": recordTable}
}

// Marks enclose the table in a page.
const (
	beginMark = "<!-- Written by scripts/genchart from promql.Queries. -->\n"
	endMark   = "<!-- End of the table. -->\n"
)

// PutTable replaces the table in a page.
func PutTable(page, table string) (string, error) {
	before, rest, ok := strings.Cut(page, beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return "", fmt.Errorf("must hold the lines %q and %q around the table", strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	return before + beginMark + "\n" + table + "\n" + endMark + after, nil
}

func commandTable() string {
	t := table{"name", "unit", "what it measures"}
	for _, q := range promql.Queries() {
		t.row("`"+q.Name+"`", q.Unit, q.Summary)
	}
	return t.String()
}

func recordTable() string {
	t := table{"record", "unit", "what it measures"}
	for _, q := range recorded() {
		t.row("`"+q.Record+"`", q.Unit, q.Summary)
	}
	t.row("`supersonic:requests:rate`", "requests per second", "Requests that Envoy sends to Triton")
	return t.String()
}

// A table holds cells, three in a row.
type table []string

func (t *table) row(cells ...string) { *t = append(*t, cells...) }

func (t table) String() string {
	var b strings.Builder
	for i := 0; i < len(t); i += 3 {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(t[i:i+3], " | "))
		if i == 0 {
			b.WriteString("|---|---|---|\n")
		}
	}
	return b.String()
}
