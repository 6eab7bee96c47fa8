package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	helmyaml "sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
)

// tidy corrects what 0.1 to 0.3.1 tolerated: quoted numbers, and keys without a
// value.
func tidy(_ *run, p *part) { p.tidyBelow(nil, defaults()) }

func (p *part) tidyBelow(at []string, defaults map[string]any) {
	vals := p.vals
	if len(at) > 0 {
		vals, _ = lookUp(p.vals, at).(map[string]any)
	}
	for _, name := range slices.Sorted(maps.Keys(vals)) {
		usual, known := defaults[name]
		path := append(slices.Clone(at), name)
		switch value := vals[name].(type) {
		case map[string]any:
			if inner, isMap := usual.(map[string]any); isMap && name != "resources" {
				p.tidyBelow(path, inner)
			}
		case string:
			p.unquote(path, value, usual)
		case nil:
			if known {
				p.fill(path, usual)
			}
		}
	}
}

// unquote removes the quotes of a number or a boolean.
func (p *part) unquote(path []string, text string, usual any) {
	var read any
	if helmyaml.Unmarshal([]byte(text), &read) != nil {
		return
	}
	_, number := read.(float64)
	_, wantsNumber := usual.(float64)
	_, truth := read.(bool)
	_, wantsTruth := usual.(bool)
	if number && wantsNumber || truth && wantsTruth {
		key := oldkeys.Join(path)
		p.done(p.setPlain(path, strings.TrimSpace(text), read), key, "quotes removed, because they make it a string", "remove the quotes")
	}
}

// setPlain replaces a value by a text that parses to it.
func (p *part) setPlain(path []string, text string, value any) error {
	return p.try(func(g *file) error {
		e, ok := g.find(path)
		if !ok {
			return errBroughtIn
		}
		return g.splice(g.start(e.value), g.end(e), text)
	}, func(vals map[string]any) { put(vals, path, value) })
}

// fill gives an empty value to a key that has none: it would remove the key's default.
func (p *part) fill(path []string, usual any) {
	var empty any
	switch usual := usual.(type) {
	case map[string]any:
		empty = map[string]any{}
	case []any:
		if len(usual) > 0 {
			return // null means none
		}
		empty = []any{}
	case string:
		empty = ""
	default:
		return
	}
	p.write(oldkeys.Join(path), empty, fmt.Sprintf("now %s: without a value, the key removed its default", flowText(empty)))
}
