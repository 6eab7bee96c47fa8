package chart_test

import (
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// onceEngine renders the chart as Helm's engine does, except that it parses the templates only once.
type onceEngine struct {
	chart     *render.Loaded
	schema    *jsonschema.Schema
	templates *template.Template
	names     []string // of the templates that are no partials
}

func newOnceEngine(t *testing.T) *onceEngine {
	t.Helper()
	e := &onceEngine{chart: manifest.Chart(t), templates: template.New("chart").Option("missingkey=zero")}
	_, e.schema = schema(t)
	e.templates.Funcs(sprig.TxtFuncMap()).Funcs(helmFunctions).Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out strings.Builder
			err := e.templates.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
	})
	for _, f := range e.chart.Templates {
		name := path.Join(e.chart.Name(), f.Name)
		if _, err := e.templates.New(name).Parse(string(f.Data)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(path.Base(name), "_") {
			e.names = append(e.names, name)
		}
	}
	// First the errors, as the command reports them whatever else fails.
	i := slices.IndexFunc(e.names, func(name string) bool { return path.Base(name) == "errors.yaml" })
	e.names[0], e.names[i] = e.names[i], e.names[0]
	return e
}

// helmFunctions are those that Helm adds to sprig's, except include.
var helmFunctions = template.FuncMap{
	"toYaml": func(v any) string {
		text, err := yaml.Marshal(v)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	},
	"fromYaml":      parsed[map[string]any](yamlInto),
	"fromYamlArray": parsed[[]any](yamlInto),
	"fromJson":      parsed[map[string]any](json.Unmarshal),
	"fromJsonArray": parsed[[]any](json.Unmarshal),
	"toJson": func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(text)
	},
	"lookup": func(string, string, string, string) map[string]any { return map[string]any{} },
}

func yamlInto(text []byte, into any) error { return yaml.Unmarshal(text, into) }

// parsed returns a function for templates. The chart parses only what it has written itself.
func parsed[T any](parse func([]byte, any) error) func(string) (T, error) {
	return func(text string) (T, error) {
		var value T
		err := parse([]byte(text), &value)
		return value, err
	}
}

// onceFiles are the chart's files, as templates read them.
type onceFiles map[string]string

// Get returns the content of a file.
func (f onceFiles) Get(name string) string { return f[name] }

// errRefused means that the schema or the chart's checks refuse the values.
var errRefused = errors.New("refused")

func (e *onceEngine) render(vals map[string]any) (render.Manifests, error) {
	release := chartutil.ReleaseOptions{Name: randomOptions.Release, Namespace: randomOptions.Namespace, Revision: 1, IsInstall: true}
	caps := chartutil.DefaultCapabilities.Copy()
	version, err := chartutil.ParseKubeVersion(render.DefaultKubeVersion)
	if err != nil {
		return nil, err
	}
	caps.KubeVersion = *version
	top, err := chartutil.ToRenderValuesWithSchemaValidation(e.chart.Chart, vals, release, caps, true)
	if err != nil {
		return nil, err
	}
	plain, err := jsonschema.UnmarshalJSON(strings.NewReader(helmFunctions["toJson"].(func(any) string)(top["Values"])))
	if err != nil {
		return nil, err
	}
	if e.schema.Validate(plain) != nil {
		return nil, errRefused
	}
	files := onceFiles{}
	for _, f := range e.chart.Files {
		files[f.Name] = string(f.Data)
	}
	data := map[string]any{
		"Values": top["Values"], "Release": top["Release"], "Capabilities": top["Capabilities"], "Chart": e.chart.Metadata, "Files": files,
		"Subcharts": map[string]any{},
	}
	return e.execute(data)
}

func (e *onceEngine) execute(data map[string]any) (render.Manifests, error) {
	m := render.Manifests{}
	for _, name := range e.names {
		data["Template"] = map[string]any{"Name": name, "BasePath": path.Join(e.chart.Name(), "templates")}
		var out strings.Builder
		if err := e.templates.ExecuteTemplate(&out, name, data); err != nil {
			if strings.Contains(err.Error(), "the values contradict each other") {
				return nil, errRefused
			}
			return nil, err
		}
		if strings.Contains(out.String(), "<no value>") { // Helm would remove it.
			return nil, errors.New(name + ": prints a value that is not there")
		}
		if strings.TrimSpace(out.String()) != "" {
			m[strings.TrimPrefix(name, e.chart.Name()+"/templates/")] = out.String()
		}
	}
	return m, nil
}

// The engine that parses once renders what Helm's engine does.
func TestOnceEngine(t *testing.T) {
	e := newOnceEngine(t)
	for name, vals := range maps.All(examples(t)) {
		t.Run(name, func(t *testing.T) {
			want, err := render.Chart(e.chart, vals, randomOptions)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.render(vals)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-Helm +once):\n%s", diff)
			}
		})
	}
}
