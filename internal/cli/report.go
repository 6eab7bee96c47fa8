package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A report holds the findings of lint about one file or flag.
type report struct {
	file     string // empty for findings about several files together
	errors   promql.FieldErrors
	warnings promql.FieldErrors
}

// reports are in the order of the command line.
type reports []*report

// of returns the report of a file, and creates it if needed.
func (rs *reports) of(file string) *report {
	if file == "standard input" {
		file = "-"
	}
	for _, r := range *rs {
		if r.file == file {
			return r
		}
	}
	r := &report{file: file}
	*rs = append(*rs, r)
	return r
}

func (rs reports) invalid() int {
	n := 0
	for _, r := range rs {
		if len(r.errors) > 0 {
			n++
		}
	}
	return n
}

func (rs reports) print(output string, out io.Writer) error {
	if output == "json" {
		return printJSON(rs.files(), out)
	}
	var b strings.Builder
	for _, r := range rs {
		from := r.file + ": "
		if r.file == "" {
			from = ""
		}
		for _, e := range r.errors {
			fmt.Fprintf(&b, "%s%s\n", from, e)
		}
		for _, a := range r.warnings {
			fmt.Fprintf(&b, "%swarning: %s\n", from, a)
		}
		if len(r.errors)+len(r.warnings) == 0 {
			fmt.Fprintf(&b, "%sok\n", from)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// A finding and a file define the JSON output.
type (
	finding struct {
		Key  string `json:"key,omitempty"`
		Text string `json:"text"`
	}
	file struct {
		File     string    `json:"file"`
		Errors   []finding `json:"errors"`
		Warnings []finding `json:"warnings"`
	}
)

func (rs reports) files() []file {
	list := func(es promql.FieldErrors) []finding {
		found := []finding{}
		for _, e := range es {
			found = append(found, finding{e.Field, e.Err.Error()})
		}
		return found
	}
	var files []file
	for _, r := range rs {
		files = append(files, file{r.file, list(r.errors), list(r.warnings)})
	}
	return files
}

// printJSON prints v as JSON without escaping < and >, which queries contain.
func printJSON(v any, out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
