// Package migrate turns values for SuperSONIC 0.1 to 0.3.1 into values for this
// chart. It edits the text, so that comments, order and style stay, and knows what
// became of each old key, for messages and for the documentation.
package migrate

import (
	"bytes"
	"fmt"
	"strings"
)

// Options are what a migration depends on beside the files.
type Options struct {
	Release      string // the release's name, empty if it is to be read from the values
	KeepScaling  bool   // go on with the metric and the pace of 0.3.1
	DropDefaults bool   // take keys away that say what 0.3.1 said by default
}

// A Layer is one values file; a later one is laid over an earlier one.
type Layer struct {
	Name string
	Text []byte
}

// A Note is what was changed about a key, or what is left to do.
type Note struct {
	Key  string // as the file wrote it; empty for the whole file
	Text string
}

func (n Note) String() string {
	if n.Key == "" {
		return n.Text
	}
	return n.Key + ": " + n.Text
}

// A Result is a migrated layer.
type Result struct {
	Layer
	Changes []Note
	Left    []Note // what has to be done by hand
	values  map[string]any
}

// Merged are the values of all layers, as Helm merges them.
func Merged(results []Result) map[string]any {
	vals := map[string]any{}
	for _, r := range results {
		vals = merged(vals, r.values)
	}
	return vals
}

// Files migrates the layers of one release together. A layer that can't be read
// as values is an error.
func Files(layers []Layer, o Options) ([]Result, error) {
	r := run{Options: o}
	for _, l := range layers {
		part, err := open(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		r.parts = append(r.parts, part)
	}
	if err := r.keep(); err != nil {
		return nil, err
	}
	r.all()
	var results []Result
	for _, p := range r.parts {
		p.Text, p.values = append(p.mark, p.src...), p.vals
		results = append(results, p.Result)
	}
	return results, nil
}

// A run is the migration of all layers.
type run struct {
	Options
	parts        []*part
	queueLatency string // the metric of 0.3.1, for KeepScaling
}

type part struct {
	Result
	*file
	mark    []byte            // the byte order mark, if there is one
	old     map[string]any    // the values before any change
	moved   map[string]string // where sections have gone
	isFirst bool              // values for 0.1, which were read differently
}

// headings are what helm prints above values that it holds.
var headings = []string{"USER-SUPPLIED VALUES:", "COMPUTED VALUES:"}

func open(l Layer) (*part, error) {
	p := &part{Result: Result{Layer: l}, moved: map[string]string{}}
	text := l.Text
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(text, mark) {
		p.mark, text = mark, text[len(mark):]
	}
	for _, heading := range headings {
		if line, rest, ok := bytes.Cut(text, []byte("\n")); ok && strings.TrimSpace(string(line)) == heading {
			text = rest
			p.changed("", "removed the first line, which helm get values prints above the values")
		}
	}
	f, err := parse(text)
	if err != nil {
		return nil, err
	}
	p.file, p.old = f, copied(f.vals).(map[string]any)
	if n := documents(text); n > 1 {
		p.left("", fmt.Sprintf("holds %d YAML documents, of which Helm reads only the first: remove the others", n))
	}
	return p, nil
}

func (p *part) changed(key, text string) { p.Changes = append(p.Changes, Note{key, text}) }

func (p *part) left(key, text string) { p.Left = append(p.Left, Note{key, text}) }

// done notes an edit, or that it has to be made by hand.
func (p *part) done(err error, key, text, byHand string) bool {
	if err != nil {
		p.left(key, fmt.Sprintf("%s, so it was not changed: %s", err, byHand))
		return false
	}
	p.changed(key, text)
	return true
}

// all applies the rules in their order: what keys are called, what they are set to.
func (r *run) all() {
	below := map[string]any{}
	for _, p := range r.parts {
		below = merged(below, p.old)
	}
	for _, p := range r.parts {
		p.isFirst = isFirst(below)
		p.rename()
	}
	if r.DropDefaults {
		for _, p := range r.parts {
			p.dropDefaults(r.nowBelow(p))
		}
	}
	for _, rule := range rules {
		for _, p := range r.parts {
			rule(r, p)
		}
	}
}

// now are the values of all layers as they are.
func (r *run) now() map[string]any {
	vals := map[string]any{}
	for _, p := range r.parts {
		vals = merged(vals, p.vals)
	}
	return vals
}

// nowBelow are the values of the layers under a part.
func (r *run) nowBelow(of *part) map[string]any {
	vals := map[string]any{}
	for _, p := range r.parts {
		if p == of {
			break
		}
		vals = merged(vals, p.vals)
	}
	return vals
}

// get is the value of a key in all layers.
func (r *run) get(key string) any { return lookUp(r.now(), split(key)) }
