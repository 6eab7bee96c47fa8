package chart_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

// probe is a word without a meaning anywhere.
const probe = "zqprobe"

var (
	// Words that YAML does not read as strings.
	unlike = []string{"null", "true", "1", "~", "y", "0x1"}
	// Names that the templates use themselves.
	ours = []string{"health", "metrics", "http", "grpc", "envoy", "gate", "tls", "clients", "triton_grpc_service"}
	// Strings that break out of their place if they are not quoted.
	hostile = []string{
		"a\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: kube-system}\n",
		"a: {b: [c", `a"b'c`, "]] .. os.exit() .. [[", "{{ fail \"\" }}", "# a", "- a", "*a", "&a b", "!!int 1", "%a", "|", ">-",
	}
)

// withLists has an entry in each list of maps that have names.
const withLists = `
keda: {enabled: true}
prometheus: {enabled: true, server: {ingress: {enabled: true, hosts: [b.example.org]}}}
grafana: {enabled: true, ingress: {enabled: true, hosts: [c.example.org]}}
tempo: {enabled: true}
opentelemetry-collector: {enabled: true}
metricsCollector: {enabled: true, ingress: {enabled: true, hostName: d.example.org}}
envoy:
  ingress: {enabled: true, hostName: a.example.org}
  rate_limiter: {prometheus_based: {enabled: true}}
  tls: {enabled: true, secretName: server}
  auth:
    enabled: true
    providers:
    - name: one
      issuer: one
      audiences: [one]
      jwksUri: https://one.example.org
      ca: {secretName: one, key: one}
      claims: [{path: [one], values: [one]}]
    - {name: two, issuer: two, audiences: [two], jwksUri: "https://two.example.org", ca: {secretName: two}}
triton:
  image: a
  env: [{name: one, value: one}]
  extraVolumes: [{name: one, emptyDir: {}}]
  initContainers: [{name: one, image: one}]
  extraContainers: [{name: two, image: two, ports: [{name: one, containerPort: 1}]}]
  modelRepository: {enabled: true, storageType: pvc, mountPath: /models, pvc: {claimName: one}}
imagePullSecrets: [one, {name: two}]
`

// A string from the values is the same string wherever it is rendered, whatever its
// content, and nothing else in the manifests depends on it.
func TestWordsStayStrings(t *testing.T) {
	text, err := fs.ReadFile(chart.FS(), "values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := append(stringLeaves(manifest.Values(t, withLists), nil), stringLeaves(manifest.Values(t, string(text)), nil)...)
	for _, word := range slices.Concat(unlike, ours, hostile) {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			taken := slices.DeleteFunc(slices.Clone(paths), func(path []any) bool {
				return path[0] == "nameOverride" || key(path) == "envoy.auth.jwt_issuer" || // names contain its digest, and two issuers must differ
					slices.Contains(hostile, word) && (path[0] == "grafana" || path[0] == "metricsCollector") // INI and a URL
			})
			taken = accepted(t, accepted(t, taken, probe), word)
			if got, want := len(taken), 20; got < want {
				t.Errorf("%d values may be %q, want at least %d", got, word, want)
			}
			if name := "envoy.auth.providers[0].name"; !strings.ContainsAny(word, "~_") && !slices.Contains(hostile, word) &&
				!slices.ContainsFunc(taken, func(path []any) bool { return key(path) == name }) {
				t.Errorf("%s must not be %q", name, word)
			}
			want := replaced(trees(t, withWord(t, taken, probe)), word)
			if diff := cmp.Diff(want, trees(t, withWord(t, taken, word))); diff != "" {
				t.Errorf("values are %q (-as any other word +as it is):\n%s", word, diff)
			}
		})
	}
}

// Words that YAML does not read as strings are accepted as names in these values.
func TestNamesMayBeAnyWord(t *testing.T) {
	for _, word := range unlike {
		path := []any{"envoy", "auth", "providers", 0, "issuer"}
		if len(accepted(t, [][]any{path}, word)) != 1 {
			t.Errorf("%v must not be %q", path, word)
		}
	}
	for _, word := range []string{"null", "true", "1", "y", "0x1"} {
		for _, path := range [][]any{
			{"envoy", "auth", "providers", 0, "name"},
			{"envoy", "tls", "secretName"},
			{"triton", "modelRepository", "pvc", "claimName"},
			{"triton", "priorityClassName"},
		} {
			if len(accepted(t, [][]any{path}, word)) != 1 {
				t.Errorf("%v must not be %q", path, word)
			}
		}
	}
}

// accepted returns the paths that can be set to the word at the same time.
func accepted(t testing.TB, paths [][]any, word string) [][]any {
	t.Helper()
	for {
		err := render.Check(manifest.Chart(t), withWord(t, paths, word), manifest.Options)
		if err == nil {
			return paths
		}
		var refused promql.FieldErrors
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		rest := slices.DeleteFunc(slices.Clone(paths), func(path []any) bool {
			return slices.ContainsFunc(refused, func(e *promql.FieldError) bool {
				return under(e.Field, key(path)) || strings.Contains(e.Error(), key(path))
			})
		})
		if len(rest) == len(paths) {
			t.Fatalf("with every value %q: %v", word, err)
		}
		paths = rest
	}
}

// under reports whether a key is the field or inside it, or the other way around.
func under(field, key string) bool {
	field, key = strings.ReplaceAll(field, `"`, "")+".", key+"."
	inner := strings.NewReplacer("[", ".[")
	field, key = inner.Replace(field), inner.Replace(key)
	return strings.HasPrefix(key, field) || strings.HasPrefix(field, key)
}

func key(path []any) string {
	var text strings.Builder
	for i, step := range path {
		if number, ok := step.(int); ok {
			fmt.Fprintf(&text, "[%d]", number)
			continue
		}
		if i > 0 {
			text.WriteByte('.')
		}
		fmt.Fprint(&text, step)
	}
	return text.String()
}

// stringLeaves returns the paths to all strings, by key of a map and index of a list, of which only the first item counts.
func stringLeaves(value any, at []any) [][]any {
	var paths [][]any
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			paths = append(paths, stringLeaves(value[key], append(slices.Clone(at), key))...)
		}
	case []any:
		if len(value) > 0 {
			paths = stringLeaves(value[0], append(slices.Clone(at), 0))
		}
	case string:
		paths = append(paths, at)
	}
	return paths
}

// withWord returns values with the word at these paths, if there is a string or nothing.
func withWord(t testing.TB, paths [][]any, word string) map[string]any {
	t.Helper()
	values := manifest.Values(t, withLists)
	for _, path := range paths {
		set(values, path, word)
	}
	return values
}

func set(at any, path []any, word string) {
	last := len(path) == 1
	switch inner := at.(type) {
	case map[string]any:
		key := path[0].(string)
		switch {
		case last:
			inner[key] = word
		case inner[key] == nil && path[1] == 0:
			return // an entry of a list of the defaults
		case inner[key] == nil:
			inner[key] = map[string]any{}
		}
		if !last {
			set(inner[key], path[1:], word)
		}
	case []any:
		if last {
			inner[0] = word
			return
		}
		set(inner[0], path[1:], word)
	}
}

// trees returns all objects, with the YAML in ConfigMaps parsed too.
func trees(t testing.TB, values map[string]any) any {
	t.Helper()
	m, err := render.Chart(manifest.Chart(t), values, manifest.Options)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for path, text := range m {
		if path != "NOTES.txt" {
			for i, part := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
				all[fmt.Sprint(path, i)] = tree(t, part)
			}
		}
	}
	return all
}

func tree(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	return opened(t, value)
}

// opened parses strings that are YAML themselves, and removes digests of other objects.
func opened(t testing.TB, value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for key, inner := range object {
		text, isText := inner.(string)
		switch {
		case strings.HasPrefix(key, "checksum/"):
			delete(object, key)
		case isText && (strings.HasSuffix(key, ".yaml") || strings.HasSuffix(key, ".json")):
			object[key] = tree(t, text)
		default:
			object[key] = opened(t, inner)
		}
	}
	return object
}

// replaced returns a copy with a word in place of the probe, also in keys.
func replaced(value any, word string) any {
	switch value := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, inner := range value {
			all[strings.ReplaceAll(key, probe, word)] = replaced(inner, word)
		}
		return all
	case []any:
		all := make([]any, len(value))
		for i, inner := range value {
			all[i] = replaced(inner, word)
		}
		return all
	case string:
		return strings.ReplaceAll(value, probe, word)
	}
	return value
}
