package main

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// marks enclose the table in the README.
const (
	beginMark = "<!-- The table is written by scripts/genvalues. -->\n"
	endMark   = "<!-- The end of the table. -->\n"
)

// put replaces the table in a README.
func put(readme []byte, values *value) ([]byte, error) {
	before, rest, ok := strings.Cut(string(readme), beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return nil, errors.New(readmeFile + ": must hold the marks of the table")
	}
	return []byte(before + beginMark + "\n" + table(values) + "\n" + endMark + after), nil
}

// table lists every value, with a title for each top-level section.
func table(values *value) string {
	rows := map[string][]string{} // by title; "" for top-level values
	var titles []string           // in order
	values.walk(func(v *value) {
		if v.comment == "" {
			return
		}
		title, _, nested := strings.Cut(v.path, ".")
		if !nested {
			title = ""
		}
		if rows[title] == nil {
			titles = append(titles, title)
		}
		rows[title] = append(rows[title], fmt.Sprintf("| `%s` | %s | %s |\n", v.path, code(flow(v.node)), cell(v.comment)))
	})
	var b strings.Builder
	for i, title := range titles {
		if i > 0 {
			b.WriteByte('\n')
		}
		if title != "" {
			fmt.Fprintf(&b, "### %s\n\n", title)
		}
		b.WriteString("| key | default | what |\n|---|---|---|\n")
		b.WriteString(strings.Join(rows[title], ""))
	}
	return b.String()
}

// flow formats a value on one line.
func flow(v *yaml.Node) string {
	var parts []string
	switch v.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(v.Content); i += 2 {
			parts = append(parts, v.Content[i].Value+": "+flow(v.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range v.Content {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if v.Tag == "!!str" && (v.Value == "" || v.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0) {
		return fmt.Sprintf("%q", v.Value)
	}
	return strings.ReplaceAll(strings.TrimSpace(v.Value), "\n", " ")
}

// maxDefault is the maximum length, in characters, of a default in the table.
const maxDefault = 90

func code(text string) string {
	if len([]rune(text)) > maxDefault {
		return "see values.yaml"
	}
	return "`" + cell(text) + "`"
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
