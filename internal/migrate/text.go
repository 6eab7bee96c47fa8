package migrate

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	helmyaml "sigs.k8s.io/yaml"
)

// A file is the text of a values file, which is edited in place: everything else
// stays byte for byte. Positions come from yaml.v3, values from the parser that Helm
// uses.
type file struct {
	src   []byte
	root  *yaml.Node // the map of the first document; nil if it is empty
	vals  map[string]any
	lines []int  // offset of each line
	eol   string // line ending of added lines
}

func parse(src []byte) (*file, error) {
	f := &file{src: src, lines: []int{0}, eol: "\n", vals: map[string]any{}}
	for i, b := range src {
		if b == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	if bytes.Contains(src, []byte("\r\n")) {
		f.eol = "\r\n"
	}
	if err := helmyaml.UnmarshalStrict(src, &f.vals); err != nil {
		return nil, unread(err)
	}
	if f.vals == nil {
		f.vals = map[string]any{}
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(src)).Decode(&doc); err != nil || len(doc.Content) == 0 {
		if len(f.vals) == 0 {
			return f, nil
		}
		return nil, err
	}
	if doc.Content[0].Kind == yaml.MappingNode {
		f.root = doc.Content[0]
	}
	return f, nil
}

var place = regexp.MustCompile(`line \d+: .*`)

// unread explains in one line why a file is not a values file.
func unread(err error) error {
	if where := place.FindString(err.Error()); where != "" {
		return errors.New(where)
	}
	return errors.New("must be a YAML object, with the values by key")
}

// An entry is a key of a map and its value.
type entry struct {
	parent, key, value *yaml.Node
}

func (e entry) flow() bool { return e.parent.Style&yaml.FlowStyle != 0 }

// indent is the indentation of the keys in e's map.
func (e entry) indent() int { return e.parent.Content[0].Column - 1 }

// find looks a path up among the keys in the text. It does not find keys that come
// from an alias or a merge.
func (f *file) find(path []string) (entry, bool) {
	node := f.root
	var found entry
	for _, word := range path {
		if node == nil || node.Kind != yaml.MappingNode {
			return entry{}, false
		}
		e, ok := child(node, word)
		if !ok {
			return entry{}, false
		}
		found, node = e, e.value
	}
	return found, found.key != nil
}

func child(node *yaml.Node, name string) (entry, bool) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if k := node.Content[i]; k.Value == name && k.Kind == yaml.ScalarNode {
			return entry{node, k, node.Content[i+1]}, true
		}
	}
	return entry{}, false
}

// offset returns the byte offset of a node; the parser's columns count characters.
func (f *file) offset(n *yaml.Node) int {
	at := f.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := nextRune(f.src[at:])
		at += size
	}
	return at
}

// line returns the index of the line that contains an offset.
func (f *file) line(at int) int {
	n := 0
	for n+1 < len(f.lines) && f.lines[n+1] <= at {
		n++
	}
	return n
}

// text returns a line without its line ending.
func (f *file) text(line int) string {
	end := len(f.src)
	if line+1 < len(f.lines) {
		end = f.lines[line+1]
	}
	return strings.TrimRight(string(f.src[f.lines[line]:end]), "\r\n")
}

// after returns the offset of the next line.
func (f *file) after(line int) int {
	if line+1 < len(f.lines) {
		return f.lines[line+1]
	}
	return len(f.src)
}

// reach returns the lines of an entry in a block: from the comment directly above it
// to its last line, including comments that are indented more. A comment at the top
// of the file belongs to the file.
func (f *file) reach(e entry) (first, last int) {
	first = f.line(f.offset(e.key))
	last = f.line(max(f.end(e)-1, 0))
	for first > 0 && isComment(f.text(first-1)) && indentOf(f.text(first-1)) == e.indent() {
		first--
	}
	if first == 0 {
		first = f.line(f.offset(e.key))
	}
	for next := last + 1; next < len(f.lines); next++ {
		text := f.text(next)
		if isBlank(text) {
			continue
		}
		if !isComment(text) || indentOf(text) <= e.indent() {
			break
		}
		last = next
	}
	return first, last
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// splice replaces a part of the text and parses the result.
func (f *file) splice(from, to int, text string) error {
	src := append([]byte{}, f.src[:from]...)
	src = append(append(src, text...), f.src[to:]...)
	g, err := parse(src)
	if err != nil {
		return errShared
	}
	*f = *g
	return nil
}
