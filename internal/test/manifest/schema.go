// Package manifest renders the chart for tests, parses the manifests, and checks them as an API server with strict
// validation does: against the OpenAPI documents of a Kubernetes release and the custom resource definitions of KEDA and
// of the Prometheus operator.
//
// A Validator rejects duplicate keys, unknown fields, missing or null fields, wrong types, quantities that do not parse,
// names and labels that the API server's own functions reject, selectors that do not match their own pods, and duplicate
// objects.
//
// It does not check rules between fields that the API server has in code or in CEL.
package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// A Validator checks manifests against one Kubernetes release. Tests that run in parallel may share it.
type Validator struct {
	version    string // "1.34"
	kubernetes string // folder of OpenAPI documents
	customs    []string

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	added    map[string]bool   // resources that the compiler has, by URL
	kinds    map[string]string // apiVersion and kind -> URL of the schema
}

// For returns the Validator of a Kubernetes release, such as "1.34". Its documents must be installed.
func For(t testing.TB, kubernetes string) *Validator {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // which OpenAPI 3.0 extends
	c.AssertFormat()
	for _, f := range formats() {
		c.RegisterFormat(f)
	}
	return &Validator{
		version:    kubernetes,
		kubernetes: tools.Dir(t, "kubernetes-"+kubernetes),
		customs:    []string{tools.Dir(t, "keda"), tools.Dir(t, "prometheus-operator")},
		compiler:   c,
		added:      map[string]bool{},
		kinds:      map[string]string{},
	}
}

// Check returns all errors of the manifests, by file, which are YAML streams of any number of documents. An error begins
// with the file, the object and the path of the field.
func (v *Validator) Check(manifests map[string]string) []error {
	var errs []error
	seen := map[string]string{} // object -> file
	for _, file := range slices.Sorted(maps.Keys(manifests)) {
		docs, err := documents(manifests[file])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
		for _, doc := range docs {
			id := identity(doc)
			if first, twice := seen[id]; twice {
				errs = append(errs, fmt.Errorf("%s: %s: already in %s", file, id, first))
			}
			seen[id] = file
			for _, err := range v.checkObject(doc) {
				errs = append(errs, fmt.Errorf("%s: %s: %w", file, id, err))
			}
		}
	}
	return errs
}

func (v *Validator) checkObject(doc map[string]any) []error {
	s, err := v.schemaOf(doc)
	if err != nil {
		return []error{err}
	}
	var errs []error
	if err := s.Validate(doc); err != nil {
		errs = explain(err)
	}
	errs = append(errs, checkNames(doc)...)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// identity returns the name of an object as kubectl writes it, with its API group and namespace.
func identity(doc map[string]any) string {
	meta, _ := doc["metadata"].(map[string]any)
	kind, name := text(doc, "kind"), text(meta, "name")
	if group, _, ok := strings.Cut(text(doc, "apiVersion"), "/"); ok {
		kind += "." + group
	}
	if namespace := text(meta, "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return kind + " " + name
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
