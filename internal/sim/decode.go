package sim

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// A decoder fills structs from YAML and collects every error, each with the file
// and the key. The keys of a struct are the names of its fields, with a lower-case
// first letter; any other key is an error.
type decoder struct {
	file string
	errs []error
}

func (d *decoder) refuse(key, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s: %s: %w", d.file, key, fmt.Errorf(format, args...)))
}

// decode reads one YAML document.
func decode(file string, text []byte, into any) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return fmt.Errorf("%s: must be a scenario, got an empty file", file)
	}
	d := decoder{file: file}
	d.value("", doc.Content[0], reflect.ValueOf(into).Elem())
	return errors.Join(d.errs...)
}

var durationType = reflect.TypeFor[time.Duration]()

func (d *decoder) value(key string, n *yaml.Node, into reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case into.Type() == durationType:
		d.duration(key, n, into)
	case into.Kind() == reflect.Struct:
		d.object(key, n, into)
	case into.Kind() == reflect.Slice:
		d.list(key, n, into)
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(key, n, into.Elem())
	case into.Kind() == reflect.Map:
		d.plain(key, n, into, "an object")
	case into.Kind() == reflect.String:
		d.scalar(key, n, into, "!!str", "a string")
	case into.Kind() == reflect.Bool:
		d.scalar(key, n, into, "!!bool", "true or false")
	case into.Kind() == reflect.Float64:
		d.scalar(key, n, into, "!!int !!float", "a number")
	default:
		d.scalar(key, n, into, "!!int", "an integer")
	}
}

func (d *decoder) object(key string, n *yaml.Node, into reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.refuse(orRoot(key), "must be an object, got %s", shown(n))
		return
	}
	fields := map[string]reflect.Value{}
	var names []string
	for i := range into.NumField() {
		if f := into.Type().Field(i); f.IsExported() && f.Tag.Get("yaml") != "-" {
			name := keyOf(f.Name)
			fields[name] = into.Field(i)
			names = append(names, name)
		}
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		field, ok := fields[name]
		switch {
		case !ok:
			d.refuse(join(key, name), "unknown key, must be one of %s", strings.Join(names, ", "))
		case seen[name]:
			d.refuse(join(key, name), "must be set once")
		default:
			d.value(join(key, name), n.Content[i+1], field)
		}
		seen[name] = true
	}
}

// keyOf is the key of a field, as in ThinkTime and thinkTime.
func keyOf(field string) string {
	letters := []rune(field)
	letters[0] = unicode.ToLower(letters[0])
	return string(letters)
}

func (d *decoder) list(key string, n *yaml.Node, into reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.refuse(orRoot(key), "must be a list, got %s", shown(n))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(fmt.Sprintf("%s[%d]", key, i), item, into.Index(i))
	}
}

func (d *decoder) scalar(key string, n *yaml.Node, into reflect.Value, tags, what string) {
	if n.Kind != yaml.ScalarNode || !strings.Contains(tags, n.Tag) {
		d.refuse(key, "must be %s, got %s", what, shown(n))
		return
	}
	d.plain(key, n, into, what)
}

func (d *decoder) plain(key string, n *yaml.Node, into reflect.Value, what string) {
	if err := n.Decode(into.Addr().Interface()); err != nil {
		d.refuse(key, "must be %s, got %s", what, shown(n))
	}
}

func (d *decoder) duration(key string, n *yaml.Node, into reflect.Value) {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 {
		d.refuse(key, "must be a duration such as 1h30m, 10s or 0.5ms, got %s", shown(n))
		return
	}
	into.SetInt(int64(v))
}

func shown(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "an object"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "null"
	case n.Tag == "!!str":
		return fmt.Sprintf("%q", n.Value)
	}
	return n.Value
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func orRoot(key string) string {
	if key == "" {
		return "the file"
	}
	return key
}
