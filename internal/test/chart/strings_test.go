package chart_test

import (
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fastmachinelearning/supersonic/chart"
)

// fields holds the kinds of values of each field name in Kubernetes' types.
type fields struct {
	kinds map[string]map[string]bool
	seen  map[reflect.Type]bool
}

func (f fields) walk(t reflect.Type, name string) {
	kind := t.Kind().String()
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		f.walk(t.Elem(), name)
		return
	case t.Kind() == reflect.Map:
		kind = "map of " + t.Elem().String()
	case t.Kind() == reflect.Struct && t.PkgPath() != "k8s.io/apimachinery/pkg/api/resource" && t.Name() != "IntOrString":
		if !f.seen[t] {
			f.seen[t] = true
			f.fields(t, name)
		}
		return
	}
	if f.kinds[name] == nil {
		f.kinds[name] = map[string]bool{}
	}
	f.kinds[name][kind] = true
}

func (f fields) fields(t reflect.Type, name string) {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == "" {
			tag = name
		}
		if t.Field(i).IsExported() {
			f.walk(t.Field(i).Type, tag)
		}
	}
}

// named returns the names whose values are only of this kind.
func (f fields) named(kind string) (names []string) {
	for name, kinds := range f.kinds {
		if kinds[kind] && len(kinds) == 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// The chart knows which fields that it passes through to Kubernetes are strings.
func TestNamesOfStrings(t *testing.T) {
	f := fields{map[string]map[string]bool{}, map[reflect.Type]bool{}}
	f.walk(reflect.TypeFor[corev1.PodSpec](), "")
	f.walk(reflect.TypeFor[networkingv1.NetworkPolicyEgressRule](), "")
	text, err := fs.ReadFile(chart.FS(), "templates/_strings.tpl")
	if err != nil {
		t.Fatal(err)
	}
	for define, want := range map[string][]string{
		"supersonic.strings.names": append(f.named("string"), "values"), // a number only below exitCodes
		"supersonic.strings.maps":  f.named("map of string"),
	} {
		found := regexp.MustCompile(`(?s)define "` + define + `" -\}\}(.*?)\{\{- end`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("no define %s", define)
		}
		if diff := cmp.Diff(want, strings.Fields(string(found[1]))); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nwant: %s", define, diff, strings.Join(want, " "))
		}
	}
}
