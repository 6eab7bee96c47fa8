package generate

import (
	"fmt"
	"strings"

	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
	"github.com/fastmachinelearning/supersonic/promql"
)

// Docs maps the pages that contain a generated table, by path in the repository, to
// the table.
func Docs() map[string]func() string {
	return map[string]func() string{"docs/command.md": commandTable, "docs/observing.md": recordTable, "docs/migrating.md": oldKeysTable}
}

// The markers around the table in a page.
const (
	beginMark = "<!-- Written by scripts/genchart. -->\n"
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

func oldKeysTable() string {
	t := table{"key", "versions", "now"}
	for _, r := range oldkeys.Rows {
		t.row("`"+r.Key+"`", r.In, becameOf(r))
	}
	for _, r := range oldkeys.Sections {
		t.row("any other key of the subchart `"+r.Key+"`", "0.2–0.3", r.Now)
	}
	return t.String()
}

func becameOf(r oldkeys.Row) string {
	var words []string
	if r.Dropped {
		words = append(words, "dropped")
	}
	if len(r.To) > 0 {
		words = append(words, "`"+strings.Join(r.To, "`, `")+"`")
	}
	if r.Now != "" {
		words = append(words, r.Now)
	}
	return strings.Join(words, ": ")
}

// A table holds the cells, three per row.
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
