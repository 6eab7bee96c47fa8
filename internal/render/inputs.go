package render

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/input"
	"github.com/fastmachinelearning/supersonic/promql"
)

// Inputs holds a user's values in the forms that Helm accepts, each in the order of
// the command line.
type Inputs struct {
	Files      []string  // -f: paths; - is Stdin
	Stdin      io.Reader // read at most once
	Unique     bool      // reject a file that sets a key twice; Helm uses the last one
	SetJSON    []string  // --set-json
	Set        []string  // --set
	SetString  []string  // --set-string
	SetFile    []string  // --set-file
	SetLiteral []string  // --set-literal
}

// User holds a user's merged values, and where each key comes from.
type User struct {
	Values map[string]any
	layers []layer
}

type layer struct {
	name   string // the file, or the flag
	values map[string]any
}

// Merge reads and merges all inputs, as Helm does: later files override earlier
// ones, and flags override files. The error is [promql.FieldErrors], by file and flag.
func (in Inputs) Merge() (User, error) {
	u := User{Values: map[string]any{}}
	var errs promql.FieldErrors
	for _, name := range in.Files {
		vals, err := in.readFile(name)
		errs.Add(shownName(name), err)
		u.Values = merged(u.Values, vals)
		u.layers = append(u.layers, layer{name, vals})
	}
	for _, f := range in.flags() {
		l := layer{f.name, map[string]any{}}
		for _, text := range f.texts {
			// Parsed into both, because the layer alone lacks the items that a list had before.
			if err := errors.Join(f.parse(text, u.Values), f.parse(text, l.values)); err != nil {
				errs.Add(f.name+" "+text, firstLine(err))
			}
		}
		u.layers = append(u.layers, l)
	}
	return u, errs.Err()
}

type flag struct {
	name  string
	texts []string
	parse func(text string, into map[string]any) error
}

// flags returns the flags in the order in which Helm applies them.
func (in Inputs) flags() []flag {
	fromFile := func(name []rune) (any, error) {
		text, err := input.Read(string(name), in.Stdin)
		if err != nil {
			return nil, &promql.FieldError{Field: string(name), Err: err}
		}
		return string(text), nil
	}
	return []flag{
		{"--set-json", in.SetJSON, strvals.ParseJSON},
		{"--set", in.Set, strvals.ParseInto},
		{"--set-string", in.SetString, strvals.ParseIntoString},
		{"--set-file", in.SetFile, func(text string, into map[string]any) error {
			return strvals.ParseIntoFile(text, into, fromFile)
		}},
		{"--set-literal", in.SetLiteral, strvals.ParseLiteralInto},
	}
}

func (in Inputs) readFile(name string) (map[string]any, error) {
	text, err := input.Read(name, in.Stdin)
	if err != nil {
		return nil, err
	}
	text = valuesTitle.ReplaceAll(text, []byte("#"))
	unmarshal := func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
	if in.Unique {
		unmarshal = func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) }
	}
	if n := documentCount(text); in.Unique && n > 1 {
		return nil, fmt.Errorf("must be one YAML document, got %d, of which Helm reads the first", n)
	}
	vals := map[string]any{}
	if err := unmarshal(text, &vals); err != nil {
		return nil, yamlError(err)
	}
	return vals, nil
}

// valuesTitle is the line that "helm get values" prints above the values.
var valuesTitle = regexp.MustCompile(`\A(USER-SUPPLIED|COMPUTED) VALUES:`)

var documentStart = regexp.MustCompile(`(?m)^---(\s|$)`)

// documentCount counts the YAML documents that are not empty.
func documentCount(text []byte) int {
	n := 0
	for _, part := range documentStart.Split(string(text), -1) {
		var held any
		if yaml.Unmarshal([]byte(part), &held) == nil && held != nil {
			n++
		}
	}
	return n
}

func shownName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

var notAMap = regexp.MustCompile(`cannot unmarshal (\w+) into Go value of type map`)

// yamlError shortens a parser's error to "line 3: …".
func yamlError(err error) error {
	text := err.Error()
	if m := notAMap.FindStringSubmatch(text); m != nil {
		kinds := map[string]string{"array": "a list", "string": "a string", "number": "a number", "bool": "true or false"}
		return errors.New("must be keys and values, got " + kinds[m[1]])
	}
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	if found, ok := strings.CutPrefix(text, "unmarshal errors:"); ok {
		return errors.New(strings.ReplaceAll(strings.TrimSpace(found), "\n  ", "; "))
	}
	return errors.New("not YAML: " + text)
}

func firstLine(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}

// merged returns a overridden by b, where maps are merged. It changes neither.
func merged(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for k, v := range b {
		over, ok := v.(map[string]any)
		under, both := out[k].(map[string]any)
		if ok && both {
			out[k] = merged(under, over)
			continue
		}
		out[k] = v
	}
	return out
}

// Origin returns the last file or flag that sets a key or, if none does, its closest
// parent. Otherwise it returns the file, if there is exactly one.
func (u User) Origin(key string) string {
	if strings.Contains(key, " ") {
		return "" // not a key, but the release's name, for example
	}
	path := splitKey(key)
	for len(path) > 0 {
		for i := len(u.layers) - 1; i >= 0; i-- {
			if has(u.layers[i].values, path) {
				return shownName(u.layers[i].name)
			}
		}
		path = path[:len(path)-1]
	}
	return u.only()
}

// only returns the file, if there is exactly one.
func (u User) only() string {
	var names []string
	for _, l := range u.layers {
		if !strings.HasPrefix(l.name, "--") {
			names = append(names, shownName(l.name))
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return ""
}

var keyWord = regexp.MustCompile(`"([^"]*)"|\[(\d+)\]|([^.\[\]]+)`)

// splitKey is the inverse of keyName.
func splitKey(key string) []string {
	var path []string
	for _, m := range keyWord.FindAllStringSubmatch(key, -1) {
		path = append(path, m[1]+m[2]+m[3])
	}
	return path
}

func has(vals map[string]any, path []string) bool {
	last := len(path) - 1
	switch node := lookUp(vals, path[:last]).(type) {
	case map[string]any:
		_, ok := node[path[last]]
		return ok
	case []any:
		return lookUp(node, path[last:]) != nil
	}
	return false
}
