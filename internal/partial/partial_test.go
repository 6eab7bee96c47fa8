package partial_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/fastmachinelearning/supersonic/internal/partial"
	"github.com/fastmachinelearning/supersonic/promql"
)

func TestChartIsCurrent(t *testing.T) {
	want, err := partial.Generate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("../../chart", partial.File)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date, run `make generate` (-want +got):\n%s", path, diff)
	}
}

// defines of the generated file, and what the library builds in their place.
var defines = map[string]func(promql.Params) (promql.Query, error){
	"neededReplicas":   promql.NeededReplicas,
	"occupancyRatio":   promql.OccupancyRatio,
	"wakeUp":           promql.WakeUp,
	"inFlightRequests": promql.InFlightRequests,
	"servingRequests":  promql.ServingRequests,
	"healthyReplicas":  promql.HealthyReplicas,
	"tritonSeries":     promql.TritonSeries,
}

// TestDefinesGiveTheLibrarysQueries runs each define without Helm.
func TestDefinesGiveTheLibrarysQueries(t *testing.T) {
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
		if public && name != "tritonMatchers" && defines[name] == nil {
			t.Errorf("the define %s has no query to compare with", name)
		}
	}
	for i, envoy := range selectors {
		for j, exclude := range models {
			for _, interval := range intervals {
				// Every pair of selectors with every list of models, over the intervals.
				triton := selectors[(i+j)%len(selectors)]
				t.Run(fmt.Sprintf("%d-%d-%s", i, j, interval), func(t *testing.T) {
					compare(t, run, envoy, triton, interval, exclude)
				})
			}
		}
	}
}

func compare(t *testing.T, run *template.Template, envoy, triton string, interval time.Duration, exclude []string) {
	t.Helper()
	p := promql.Params{Envoy: selector(t, envoy), Triton: selector(t, triton), RateInterval: interval, ExcludeModels: exclude}
	for _, p.Replicas = range []promql.Replicas{promql.Windowed, promql.Instant} {
		for _, p.InFlight = range []promql.InFlight{promql.Completed, promql.Larger} {
			for name, build := range defines {
				want, err := build(p)
				if err != nil {
					t.Fatal(err)
				}
				text, err := execute(run, name, map[string]any{
					"envoySelector": envoy, "tritonSelector": triton, "excludeModels": exclude,
					"rateInterval": model.Duration(interval).String(),
					"replicas":     string(p.Replicas), "inFlight": string(p.InFlight),
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

func TestDefinesRefuseAnUnknownMode(t *testing.T) {
	run := templates(t)
	for name := range defines {
		for _, mode := range [][2]string{{"mean", "completed"}, {"windowed", "active"}, {"", ""}, {"Instant", "larger"}} {
			text, err := execute(run, name, map[string]any{
				"envoySelector": "", "tritonSelector": "", "excludeModels": nil, "rateInterval": "1m",
				"replicas": mode[0], "inFlight": mode[1],
			})
			want := fmt.Sprintf("replicas %s and inFlight %s: no such query", mode[0], mode[1])
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s gives %q and the error %v, want %s", name, text, err, want)
			}
		}
	}
}

func templates(t *testing.T) *template.Template {
	t.Helper()
	text, err := partial.Generate()
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
