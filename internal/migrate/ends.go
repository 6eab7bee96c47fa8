package migrate

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The YAML parser reports where nodes start, but not where they end.

func nextRune(b []byte) (rune, int) { return utf8.DecodeRune(b) }

// end returns the offset behind an entry's value.
func (f *file) end(e entry) int {
	if isNothing(e.value) {
		at := f.endOfScalar(e.key, 0, true)
		return at + bytes.IndexByte(f.src[at:], ':') + 1
	}
	return f.endOf(e.value, e.indent(), e.flow())
}

// isNothing reports whether there is no text for a value.
func isNothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "" && n.Anchor == ""
}

// endOf returns the offset behind a node in a block with this indentation, or in a flow collection.
func (f *file) endOf(n *yaml.Node, indent int, flow bool) int {
	at := f.start(n)
	switch {
	case n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode:
		return f.endOfScalar(n, indent, flow)
	case n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0:
		return f.endOfFlow(at)
	case n.Kind == yaml.MappingNode:
		last := len(n.Content) - 2
		return f.end(entry{n, n.Content[last], n.Content[last+1]})
	}
	item := n.Content[len(n.Content)-1]
	line := f.text(item.Line - 1)
	if isNothing(item) {
		return f.lines[item.Line-1] + len(line)
	}
	return f.endOf(item, indentOf(line), false)
}

// start returns the offset of a node, after its anchor and tag.
func (f *file) start(n *yaml.Node) int {
	at := f.offset(n)
	for at < len(f.src) && (f.src[at] == '&' || f.src[at] == '!') {
		at += len(f.src[at:]) - len(bytes.TrimLeft(f.src[at:], "&!"))
		if stop := bytes.IndexAny(f.src[at:], " \t\r\n,]}"); stop >= 0 {
			at += stop
		}
		at += len(f.src[at:]) - len(bytes.TrimLeft(f.src[at:], " \t\r\n"))
	}
	return at
}

func (f *file) endOfScalar(n *yaml.Node, indent int, flow bool) int {
	at := f.start(n)
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return f.endOfQuote(at)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return f.endOfIndented(f.line(at), indent, false)
	case flow && n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") && bytes.HasPrefix(f.src[at:], []byte(n.Value)):
		return at + len(n.Value)
	}
	line := f.line(at)
	text := f.text(line)
	from := at - f.lines[line]
	if stop := commentIn(text[from:]); stop >= 0 {
		return at + len(strings.TrimRight(text[from:from+stop], " \t"))
	}
	if flow {
		if stop := strings.IndexAny(text[from:], ",]}"); stop >= 0 {
			text = text[:from+stop]
		}
		return f.lines[line] + len(strings.TrimRight(text, " \t"))
	}
	return f.endOfIndented(line, indent, true)
}

// commentIn returns the index of a comment that follows a plain value, or -1.
func commentIn(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && (text[i-1] == ' ' || text[i-1] == '\t') {
			return i
		}
	}
	return -1
}

// endOfIndented returns the end of the last line that is indented more than the block.
func (f *file) endOfIndented(line, indent int, plain bool) int {
	last := line
	for next := line + 1; next < len(f.lines); next++ {
		text := f.text(next)
		if isBlank(text) {
			continue
		}
		if indentOf(text) <= indent || plain && isComment(text) {
			break
		}
		last = next
	}
	return f.lines[last] + len(strings.TrimRight(f.text(last), " \t"))
}

func (f *file) endOfQuote(at int) int {
	quote := f.src[at]
	for i := at + 1; i < len(f.src); i++ {
		switch {
		case quote == '"' && f.src[i] == '\\':
			i++
		case f.src[i] != quote:
		case quote == '\'' && i+1 < len(f.src) && f.src[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(f.src)
}

// endOfFlow returns the offset behind the bracket that closes the one at this offset.
func (f *file) endOfFlow(at int) int {
	depth, opens := 0, true // opens: a quote here would start a value
	for i := at; i < len(f.src); i++ {
		switch c := f.src[i]; c {
		case '[', '{':
			depth++
			opens = true
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
			opens = false
		case '"', '\'':
			if opens {
				i = f.endOfQuote(i) - 1
			}
			opens = false
		case ',', ':':
			opens = true
		case ' ', '\t', '\r', '\n':
		case '#':
			if strings.IndexByte(" \t\n", f.src[i-1]) >= 0 {
				i += bytes.IndexByte(append(f.src[i:], '\n'), '\n') - 1
			}
		default:
			opens = false
		}
	}
	return len(f.src)
}
