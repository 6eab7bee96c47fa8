package chart_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// Helm, with the chart's schema, rejects values of absurd sizes before it renders anything.
func TestHelmRefusesAbsurdSizes(t *testing.T) {
	helm, dir := tools.Path(t, "helm"), t.TempDir()
	template := func(values string) (string, time.Duration) {
		write(t, dir, "values.yaml", values)
		start := time.Now()
		out, errs, _ := run(t, helm, "template", "sonic", chartDir, "--kube-version", "1.34", "-f", filepath.Join(dir, "values.yaml"))
		return out + errs, time.Since(start)
	}
	ports := strings.Repeat("{name: p, port: 1, targetPort: 1},", 20_000)
	args := strings.Repeat("'"+strings.Repeat("x", 60_000)+"',", 10)
	for _, tc := range []struct{ name, values, at, want string }{
		{
			"parentheses", "serverLoadMetric: " + strings.Repeat("(", 300_000) + "up" + strings.Repeat(")", 300_000),
			"/serverLoadMetric", "maxLength: got 600,002, want 16,384",
		},
		{"ports", "triton: {service: {ports: [" + ports + "]}}", "/triton/service/ports", "maxItems: got 20,000, want 1,000"},
		{
			"nested-objects", "triton: {affinity: " + strings.Repeat("{a: ", 500) + "1" + strings.Repeat("}", 500) + "}",
			"/triton/affinity" + strings.Repeat("/a", 16), "got object, want ",
		},
		{"much-of-everything", "triton: {args: [" + args + "]}", "values", "must be at most 524288 bytes in all, as JSON, got "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, usual := template("triton: {replicas: 2}")
			said, took := template(tc.values)
			for _, want := range []string{tc.at, tc.want} {
				if !strings.Contains(said, want) {
					t.Errorf("want %q in %.500s", want, said)
				}
			}
			if took > 20*usual {
				t.Errorf("took %s, want at most 20 times %s", took, usual)
			}
		})
	}
}

// Every string, list and object with arbitrary keys has a bound, at every level. Only the globals of a parent chart, which
// no template reads, have none.
func TestEveryValueHasABound(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(manifest.Chart(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	properties := schema["properties"].(map[string]any)
	if got := unbounded("", properties["global"].(map[string]any)); len(got) == 0 {
		t.Error("global: has a bound, which a parent chart may not know of")
	}
	delete(properties, "global")
	for _, path := range unbounded("", schema) {
		t.Error(path)
	}
}

// unbounded returns the paths in a schema at which a value may have any size.
func unbounded(at string, s map[string]any) []string {
	var found []string
	if _, closed := s["enum"]; !closed && s["const"] == nil && s["$ref"] == nil && s["anyOf"] == nil {
		for kind, bounds := range map[string][]string{
			"string": {"maxLength"}, "array": {"maxItems", "items"}, "object": {"maxProperties", "additionalProperties"},
		} {
			names := slices.Collect(maps.Keys(s))
			free := kind != "object" || s["additionalProperties"] != false || s["patternProperties"] != nil
			if !mayBe(s, kind) || !free {
				continue
			}
			for _, bound := range bounds {
				if !slices.Contains(names, bound) || s[bound] == true {
					found = append(found, fmt.Sprintf("%s: has no %s", at, bound))
				}
			}
		}
	}
	for _, word := range []string{"properties", "patternProperties", "definitions"} {
		inner, _ := s[word].(map[string]any)
		for name, part := range inner {
			found = append(found, unbounded(at+"/"+name, part.(map[string]any))...)
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if part, ok := s[word].(map[string]any); ok {
			found = append(found, unbounded(at+"/"+word, part)...)
		}
	}
	all, _ := s["anyOf"].([]any)
	for _, part := range all {
		found = append(found, unbounded(at, part.(map[string]any))...)
	}
	return found
}

func mayBe(s map[string]any, kind string) bool {
	switch of := s["type"].(type) {
	case string:
		return of == kind
	case []any:
		return slices.Contains(of, any(kind))
	}
	return true
}
