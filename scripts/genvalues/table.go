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

// commentMark begins the comment of a key that the table shows.
const commentMark = "# -- "

// put replaces the table in a README by that of the values.
func put(readme, values []byte) ([]byte, error) {
	before, rest, ok := strings.Cut(string(readme), beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return nil, errors.New("README.md: must hold the marks of the table")
	}
	t, err := table(values)
	return []byte(before + beginMark + "\n" + t + "\n" + endMark + after), err
}

// table lists every key of values.yaml that has a comment, a section for each key
// at the top that holds others. A key without one is a fault.
func table(values []byte) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(values, &doc); err != nil {
		return "", err
	}
	w := writer{}
	w.keys("", doc.Content[0])
	return w.text(), errors.Join(w.errs...)
}

type writer struct {
	sections []string // in order; "" is the top level
	rows     map[string][]string
	errs     []error
}

// keys writes the keys of a mapping at a path.
func (w *writer) keys(path string, mapping *yaml.Node) {
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		what := comment(key)
		switch nested := value.Kind == yaml.MappingNode && len(value.Content) > 0; {
		case what != "":
			w.row(at, value, what)
		case nested:
			w.keys(at, value)
		default:
			w.errs = append(w.errs, fmt.Errorf("values.yaml:%d: %s: has no comment that begins with %q", key.Line, at, commentMark))
		}
	}
}

// comment is the last line above a key that is marked.
func comment(key *yaml.Node) string {
	lines := strings.Split(key.HeadComment, "\n")
	what, ok := strings.CutPrefix(lines[len(lines)-1], commentMark)
	if !ok {
		return ""
	}
	return what
}

func (w *writer) row(at string, value *yaml.Node, what string) {
	section, _, nested := strings.Cut(at, ".")
	if !nested {
		section = ""
	}
	if w.rows == nil {
		w.rows = map[string][]string{}
	}
	if w.rows[section] == nil {
		w.sections = append(w.sections, section)
	}
	w.rows[section] = append(w.rows[section], fmt.Sprintf("| `%s` | %s | %s |\n", at, code(flow(value)), cell(what)))
}

func (w *writer) text() string {
	var b strings.Builder
	for i, section := range w.sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		if section != "" {
			fmt.Fprintf(&b, "### %s\n\n", section)
		}
		b.WriteString("| key | default | what |\n|---|---|---|\n")
		b.WriteString(strings.Join(w.rows[section], ""))
	}
	return b.String()
}

// flow writes a value on one line.
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

// maxDefault is the length of a default, in characters, that the table shows.
const maxDefault = 90

func code(text string) string {
	if len([]rune(text)) > maxDefault {
		return "see values.yaml"
	}
	return "`" + cell(text) + "`"
}

// cell keeps a text from ending its cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
