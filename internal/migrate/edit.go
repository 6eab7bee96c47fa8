package migrate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	errBroughtIn = errors.New("comes from a YAML anchor")
	errShared    = errors.New("shares an anchor with another key")
)

// try applies an edit to a copy of f, and keeps it only if it changed the values
// as intended: a key that shares an anchor would change others too.
func (f *file) try(edit func(*file) error, intended func(map[string]any)) error {
	g := *f
	if err := edit(&g); err != nil {
		return err
	}
	want := copied(f.vals).(map[string]any)
	intended(want)
	if !reflect.DeepEqual(withoutEmpty(want), withoutEmpty(g.vals)) {
		return errShared
	}
	*f = g
	return nil
}

// remove deletes a key with its comment, and the maps that become empty.
func (f *file) remove(path []string) error {
	return f.try(func(g *file) error { return g.cut(path) },
		func(vals map[string]any) { drop(vals, path) })
}

// rename changes the name of a key, in place.
func (f *file) rename(path []string, name string) error {
	return f.try(func(g *file) error {
		e, ok := g.find(path)
		if !ok {
			return errBroughtIn
		}
		return g.splice(g.offset(e.key), g.endOfScalar(e.key, 0, true), name)
	}, func(vals map[string]any) { shift(vals, path, sibling(path, name)) })
}

// set replaces the value of a key.
func (f *file) set(path []string, value any) error {
	return f.try(func(g *file) error {
		e, ok := g.find(path)
		if !ok {
			return errBroughtIn
		}
		if isNothing(e.value) {
			return g.splice(g.end(e), g.end(e), " "+flowText(value))
		}
		from, to := g.start(e.value), g.end(e)
		written := flowText(value)
		if text, isText := value.(string); isText && e.value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			written = quoted(text, g.src[from])
		}
		if g.line(from) == g.line(g.offset(e.key)) {
			return g.splice(from, to, written)
		}
		if err := g.splice(g.lines[g.line(from)], g.after(g.line(to-1)), ""); err != nil {
			return err
		}
		at := g.endOfScalar(e.key, 0, true) + 1
		return g.splice(at, at, " "+written)
	}, func(vals map[string]any) { put(vals, path, value) })
}

// add appends a new key to its map.
func (f *file) add(path []string, value any) error {
	lines := []string{path[len(path)-1] + ": " + flowText(value)}
	return f.try(func(g *file) error { return g.insert(path, lines, value) },
		func(vals map[string]any) { put(vals, path, value) })
}

// move moves a key to other paths, with its comments and formatting.
func (f *file) move(from []string, to ...[]string) error {
	if len(to) == 1 && slices.Equal(from[:len(from)-1], to[0][:len(to[0])-1]) {
		return f.rename(from, to[0][len(to[0])-1])
	}
	value := lookUp(f.vals, from)
	return f.try(func(g *file) error {
		e, ok := g.find(from)
		if !ok {
			return errBroughtIn
		}
		lines := g.lift(e)
		if err := g.cut(from); err != nil {
			return err
		}
		for _, path := range to {
			if err := g.insert(path, renamed(lines, e.key.Value, path[len(path)-1]), value); err != nil {
				return err
			}
		}
		return nil
	}, func(vals map[string]any) {
		drop(vals, from)
		for _, path := range to {
			put(vals, path, value)
		}
	})
}

func (f *file) cut(path []string) error {
	e, ok := f.find(path)
	if !ok {
		return errBroughtIn
	}
	if len(e.parent.Content) == 2 && len(path) > 1 {
		if e.flow() || !f.holdsComments(path[:len(path)-1], e) {
			return f.cut(path[:len(path)-1])
		}
		first, last := f.reach(e)
		above, _ := f.find(path[:len(path)-1])
		behind := f.end(entry{above.parent, above.key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}})
		text := string(f.src[behind:f.lines[first]])
		return f.splice(behind, f.after(last), " {}"+text)
	}
	if e.flow() {
		return f.splice(f.flowSpan(e))
	}
	first, last := f.reach(e)
	if first > 0 && isBlank(f.text(first-1)) && f.after(last) == len(f.src) {
		first--
	}
	for f.after(last) < len(f.src) && isBlank(f.text(last+1)) && (first == 0 || isBlank(f.text(first-1))) {
		last++
	}
	return f.splice(f.lines[first], f.after(last), "")
}

// holdsComments reports whether the map whose only key is e also contains comments
// that are not part of e.
func (f *file) holdsComments(path []string, e entry) bool {
	above, ok := f.find(path)
	if !ok {
		return false
	}
	_, end := f.reach(above)
	first, last := f.reach(e)
	for line := f.line(f.offset(above.key)) + 1; line <= end; line++ {
		if (line < first || line > last) && isComment(f.text(line)) {
			return true
		}
	}
	return false
}

// flowSpan returns the range to cut to remove an entry from a flow map.
func (f *file) flowSpan(e entry) (from, to int, text string) {
	i := slices.Index(e.parent.Content, e.key)
	if i+2 < len(e.parent.Content) {
		return f.offset(e.key), f.offset(e.parent.Content[i+2]), ""
	}
	if i == 0 {
		return f.offset(e.key), f.end(e), ""
	}
	return f.end(entry{e.parent, e.parent.Content[i-2], e.parent.Content[i-1]}), f.end(e), ""
}

// lift returns the lines of an entry without its indentation.
func (f *file) lift(e entry) []string {
	if e.flow() {
		return []string{flowKey(e.key.Value) + ": " + strings.Join(strings.Fields(string(f.src[f.offset(e.value):f.end(e)])), " ")}
	}
	first, last := f.reach(e)
	var lines []string
	for line := first; line <= last; line++ {
		text := f.text(line)
		lines = append(lines, text[min(indentOf(text), e.indent()):])
	}
	return lines
}

// renamed replaces the key in the lines of an entry.
func renamed(lines []string, old, name string) []string {
	lines = slices.Clone(lines)
	for i, text := range lines {
		if isComment(text) {
			continue
		}
		for _, quote := range []string{"", `"`, "'"} {
			if rest, ok := strings.CutPrefix(text, quote+old+quote); ok {
				lines[i] = flowKey(name) + rest
				return lines
			}
		}
	}
	return lines
}

// insert writes an entry, whose lines are not indented, and creates the maps that
// its path needs.
func (f *file) insert(path, lines []string, value any) error {
	parent, depth := f.root, 0
	var above entry
	for parent != nil && depth < len(path)-1 {
		e, ok := child(parent, path[depth])
		if !ok {
			break
		}
		if above, parent = e, e.value; parent.Kind != yaml.MappingNode && !isNothing(parent) {
			return fmt.Errorf("%s is not a map that is written out", strings.Join(path[:depth+1], "."))
		}
		depth++
	}
	if parent != nil && (parent.Style&yaml.FlowStyle != 0 || len(parent.Content) == 0 && !isNothing(parent)) {
		return f.insertFlow(parent, path[depth:], value)
	}
	step := f.step()
	for i := len(path) - 2; i >= depth; i-- {
		lines = append([]string{flowKey(path[i]) + ":"}, indented(lines, step)...)
	}
	if parent == nil {
		return f.splice(len(f.src), len(f.src), f.joined(lines, len(f.src)))
	}
	if isNothing(parent) {
		at := f.after(f.line(f.offset(above.key)))
		return f.splice(at, at, f.joined(indented(lines, above.key.Column-1+step), at))
	}
	n := len(parent.Content)
	last := entry{parent, parent.Content[n-2], parent.Content[n-1]}
	first, line := f.reach(last)
	if parent == f.root && first > 0 && isBlank(f.text(first-1)) {
		lines = append([]string{""}, lines...)
	}
	at := f.after(line)
	return f.splice(at, at, f.joined(indented(lines, last.indent()), at))
}

func (f *file) insertFlow(parent *yaml.Node, path []string, value any) error {
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}
	text := flowKey(path[0]) + ": " + flowText(value)
	if n := len(parent.Content); n > 0 {
		at := f.end(entry{parent, parent.Content[n-2], parent.Content[n-1]})
		return f.splice(at, at, ", "+text)
	}
	at := f.start(parent) + 1
	return f.splice(at, at, text)
}

// step is the indentation of nested maps in this file.
func (f *file) step() int {
	for i := 1; f.root != nil && i < len(f.root.Content); i += 2 {
		if v := f.root.Content[i]; v.Kind == yaml.MappingNode && v.Style&yaml.FlowStyle == 0 {
			return v.Content[0].Column - f.root.Content[i-1].Column
		}
	}
	return 2
}

// joined returns the lines as text to insert at an offset.
func (f *file) joined(lines []string, at int) string {
	text := strings.Join(lines, f.eol) + f.eol
	if at > 0 && f.src[at-1] != '\n' {
		return f.eol + strings.TrimSuffix(text, f.eol)
	}
	return text
}

func indented(lines []string, by int) []string {
	out := make([]string, len(lines))
	for i, text := range lines {
		if text != "" {
			out[i] = strings.Repeat(" ", by) + text
		}
	}
	return out
}
