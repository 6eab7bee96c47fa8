// Package migrate turns values for SuperSONIC 0.1 to 0.3.1 into values for this
// chart. It edits the text, so that comments, order and style are kept. The table of
// old keys is in package oldkeys.
package migrate

import (
	"bytes"
	"fmt"
	"strings"
)

// Options are the inputs of a migration besides the files.
type Options struct {
	Release      string // the release's name, if empty, it is read from the values
	KeepScaling  bool   // keep the metric and the scaling rates of 0.3.1
	DropDefaults bool   // remove keys that repeat a default of 0.3.1
}

// A Layer is one values file; later layers override earlier ones.
type Layer struct {
	Name string
	Text []byte
}

// A Note describes a change to a key, or something to do by hand.
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
	Left    []Note // to be done by hand
	values  map[string]any
}

// Merged returns the values of all layers, merged as Helm does.
func Merged(results []Result) map[string]any {
	vals := map[string]any{}
	for _, r := range results {
		vals = merged(vals, r.values)
	}
	return vals
}

// Files migrates the layers of one release together. It fails if a layer is not a
// values file.
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
	moved   map[string]string // new path of each section that moved
	isFirst bool              // values for 0.1, in which some keys had another meaning
}

// headings are the first lines that helm get values prints.
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

// done records an edit or, if it failed, that it has to be made by hand.
func (p *part) done(err error, key, text, byHand string) bool {
	if err != nil {
		p.left(key, fmt.Sprintf("%s, so it was not changed: %s", err, byHand))
		return false
	}
	p.changed(key, text)
	return true
}

// all renames keys first, and then changes their values.
func (r *run) all() {
	r.dropHolds()
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

// now returns the merged values of all layers, as migrated so far.
func (r *run) now() map[string]any {
	vals := map[string]any{}
	for _, p := range r.parts {
		vals = merged(vals, p.vals)
	}
	return vals
}

// nowBelow returns the merged values of the layers below a part.
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

// get returns the value of a key in the merged layers.
func (r *run) get(key string) any { return lookUp(r.now(), split(key)) }
