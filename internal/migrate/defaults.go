package migrate

import (
	_ "embed"
	"maps"
	"reflect"
	"slices"

	helmyaml "sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
)

//go:embed defaults-0.3.1.yaml
var defaultsText []byte

// defaults parses the values.yaml of 0.3.1.
func defaults() map[string]any {
	vals := map[string]any{}
	if err := helmyaml.Unmarshal(defaultsText, &vals); err != nil {
		panic(err) // the file is part of the program
	}
	return vals
}

// dropDefaults removes keys that repeat a default of 0.3.1, unless a lower layer
// sets them to something else.
func (p *part) dropDefaults(below map[string]any) {
	p.dropEqual(nil, defaults(), below)
}

func (p *part) dropEqual(at []string, defaults, below map[string]any) {
	vals := p.vals
	if len(at) > 0 {
		vals, _ = lookUp(p.vals, at).(map[string]any)
	}
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		path := append(slices.Clone(at), key)
		value, known := defaults[key]
		if _, set := below[key]; !known || set && below[key] == nil {
			continue
		}
		inner, isMap := value.(map[string]any)
		under, _ := below[key].(map[string]any)
		if own, bothMaps := vals[key].(map[string]any); bothMaps && isMap && len(own) > 0 {
			p.dropEqual(path, inner, under)
			continue
		}
		if _, set := below[key]; !set && reflect.DeepEqual(vals[key], value) {
			p.done(p.remove(path), oldkeys.Join(path), "removed, because it is the default of 0.3.1", "remove it")
		}
	}
}

// DefaultsOf031 returns the values.yaml of 0.3.1.
func DefaultsOf031() []byte { return defaultsText }
