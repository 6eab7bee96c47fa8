package generate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/fastmachinelearning/supersonic/internal/generate"
	"github.com/fastmachinelearning/supersonic/promql"
)

func TestChartIsCurrent(t *testing.T) {
	want, err := generate.Templates()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("../../chart", generate.TemplatesFile)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date, run `make generate` (-want +got):\n%s", path, diff)
	}
}

// defines of the generated file, and what the library builds in their place.
var defines = func() map[string]promql.Named {
	all := map[string]promql.Named{}
	for _, term := range promql.Terms() {
		all["term."+camel(term.Name)] = term
	}
	for _, q := range promql.Queries() {
		if q.Record != "" {
			all[camel(q.Name)] = q
		}
	}
	return all
}()

// camel is "needed-replicas" as "neededReplicas".
func camel(name string) string {
	return regexp.MustCompile(`-.`).ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
}

// TestDefines runs each define without Helm.
func TestDefines(t *testing.T) {
	selectors := []string{
		``,
		`release="sonic",namespace="cms"`,
		`zz_last="1", a=~"b\\.c|d",`,
		`"app.kubernetes.io/name"='say "hi"', model!~"x.*"`,
		"a=\"{{ .Values }} }} or vector(1)\\n#\"",
	}
	models := [][]string{nil, {"pipeline"}, {"a", "b-c.d"}, {`say "hi"`, `back\slash`, "new\nline", "}", "{{ . }}", "é\x00\xff", "'", "`"}}
	intervals := []time.Duration{time.Millisecond, 30 * time.Second, 90 * time.Second, 117 * time.Minute, 36 * time.Hour}
	run := templates(t)
	for _, define := range run.Templates() {
		name, public := strings.CutPrefix(define.Name(), "supersonic.promql.")
		if public && name != "tritonMatchers" && name != "records" && defines[name].Build == nil {
			t.Errorf("the define %s has no query to compare with", name)
		}
	}
	for i, envoy := range selectors {
		for j, exclude := range models {
			// Every pair of selectors with every list of models, and each interval with some of them.
			triton, interval := selectors[(i+j)%len(selectors)], intervals[(i+2*j)%len(intervals)]
			t.Run(fmt.Sprintf("%d-%d-%s", i, j, interval), func(t *testing.T) {
				compare(t, run, envoy, triton, interval, exclude)
			})
		}
	}
}

func compare(t *testing.T, run *template.Template, envoy, triton string, interval time.Duration, exclude []string) {
	t.Helper()
	p := promql.Params{
		Envoy: selector(t, envoy), Triton: selector(t, triton), RateInterval: interval, ExcludeModels: exclude, Utilization: 0.75, Threshold: 1.5,
	}
	for _, p.Replicas = range []promql.Replicas{promql.Windowed, promql.Instant} {
		for _, mode := range []struct {
			inFlight promql.InFlight
			think    time.Duration
			name     string
		}{
			{promql.Completed, 0, "none"},
			{promql.Larger, 0, "none"},
			{promql.Active, 0, "none"},
			{promql.Completed, 1500 * time.Millisecond, "given"},
			{promql.Larger, time.Minute, "given"},
			{promql.Active, 24 * time.Hour, "given"},
			{promql.Active, promql.Measured, "measured"},
		} {
			p.InFlight, p.ThinkTime = mode.inFlight, mode.think
			for name, q := range defines {
				want, err := q.Build(p)
				if err != nil {
					t.Fatal(err)
				}
				text, err := execute(run, name, map[string]any{
					"envoySelector": envoy, "tritonSelector": triton, "excludeModels": exclude,
					"rateInterval": model.Duration(interval).String(), "quarterInterval": fmt.Sprintf("%dms", interval.Milliseconds()/4),
					"replicas": string(p.Replicas), "inFlight": string(p.InFlight),
					"thinkTime": mode.name, "thinkSeconds": p.ThinkTime.Seconds(), "utilization": p.Utilization, "threshold": "1.5",
				})
				if err != nil {
					t.Fatal(err)
				}
				got, err := promql.Parse(text)
				if err != nil {
					t.Fatalf("%s: %v\n%s", name, err, text)
				}
				if !got.Equal(want) {
					t.Errorf("%s gives\n\t%s\nwant\n\t%s", name, got, want)
				}
				if text != strings.TrimSpace(text) {
					t.Errorf("%s begins or ends with a space or a line break: %q", name, text)
				}
			}
		}
	}
}

func TestUnknownMode(t *testing.T) {
	run := templates(t)
	for _, test := range []struct{ replicas, inFlight, want string }{
		{"mean", "completed", "replicas mean: no such mode"},
		{"Instant", "larger", "replicas Instant: no such mode"},
		{"windowed", "most", "inFlight most: no such mode"},
		{"", "", "inFlight : no such mode"},
	} {
		text, err := execute(run, "neededReplicas", map[string]any{
			"envoySelector": "", "tritonSelector": "", "excludeModels": nil, "rateInterval": "1m",
			"replicas": test.replicas, "inFlight": test.inFlight, "thinkTime": "none",
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("gives %q and the error %v, want %s", text, err, test.want)
		}
	}
}

func templates(t *testing.T) *template.Template {
	t.Helper()
	text, err := generate.Templates()
	if err != nil {
		t.Fatal(err)
	}
	run, err := template.New("promql").Funcs(sprig.TxtFuncMap()).Option("missingkey=error").Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func execute(run *template.Template, name string, dict map[string]any) (string, error) {
	var out bytes.Buffer
	err := run.ExecuteTemplate(&out, "supersonic.promql."+name, dict)
	return out.String(), err
}

func selector(t *testing.T, text string) promql.Selector {
	t.Helper()
	s, err := promql.ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
