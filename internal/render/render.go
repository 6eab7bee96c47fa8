package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/fastmachinelearning/supersonic/promql"
)

// DefaultKubeVersion is the Kubernetes version that templates see by default. As a
// library, Helm would use 1.20.
const DefaultKubeVersion = "1.34"

// Options are the inputs of a render besides the chart and the values.
type Options struct {
	Release     string   // name of the release; at most 53 characters, as Helm accepts it
	Namespace   string   // namespace of the release
	KubeVersion string   // "1.34"; empty means DefaultKubeVersion
	APIVersions []string // API versions of the cluster, besides Kubernetes' own
	IsUpgrade   bool     // an upgrade, not an installation
	Strict      bool     // fail if a template reads a value that is not in values.yaml
}

// Manifests holds the rendered templates, except empty ones, by path in the chart's
// templates folder, such as keda/scaledobject.yaml and NOTES.txt.
type Manifests map[string]string

// Chart renders the values of a user, merged over the chart's. The error is
// [promql.FieldErrors] if the chart's schema or checks reject values.
func Chart(c *Loaded, vals map[string]any, o Options) (Manifests, error) {
	files, err := files(c, vals, o)
	if err != nil {
		return nil, err
	}
	m := Manifests{}
	for name, text := range files {
		m[strings.TrimPrefix(name, c.Name()+"/templates/")] = text
	}
	return m, nil
}

// files renders all templates. If that fails because of invalid values, it returns
// their errors, which are in a user's terms.
func files(c *Loaded, vals map[string]any, o Options) (map[string]string, error) {
	files, err := renderAll(c, vals, o)
	if err == nil {
		return files, nil
	}
	var invalid promql.FieldErrors
	if errors.As(Check(c, vals, o), &invalid) {
		return nil, invalid
	}
	return nil, err
}

// Values merges vals over the chart's values. A null removes a key.
func Values(c *Loaded, vals map[string]any) (map[string]any, error) {
	if err := checkDepth(vals); err != nil {
		return nil, err
	}
	return chartutil.CoalesceValues(c.Chart, vals)
}

// Define returns the output of a define of the chart, such as supersonic.warnings.
// Nothing else is rendered, so invalid values do not stop it.
func Define(c *Loaded, vals map[string]any, o Options, name string) (string, error) {
	partials := *c.Chart
	partials.Templates = []*helmchart.File{asking(name)}
	for _, t := range c.Templates {
		if strings.HasPrefix(path.Base(t.Name), "_") {
			partials.Templates = append(partials.Templates, t)
		}
	}
	files, err := renderAll(&Loaded{&partials, c.schema}, vals, o)
	if err != nil {
		return "", err
	}
	return files[path.Join(c.Name(), askedFile)], nil
}

const askedFile = "templates/define"

// asking returns a template that includes only a define.
func asking(name string) *helmchart.File {
	return &helmchart.File{Name: askedFile, Data: fmt.Appendf(nil, "{{ include %q . }}", name)}
}

// renderAll returns the output of each template by its full path, without empty ones.
func renderAll(c *Loaded, vals map[string]any, o Options) (map[string]string, error) {
	top, err := topValues(c, vals, o)
	if err != nil {
		return nil, err
	}
	own := clone(top["Values"].(chartutil.Values).AsMap()).(map[string]any) // templates may modify their copy
	render := func() (map[string]string, error) { return engine.Engine{Strict: o.Strict}.Render(c.Chart, top) }
	if count(own) > manyValues {
		if err := c.check(own); err != nil {
			return nil, err
		}
		return filled(render())
	}
	invalid := make(chan error, 1)
	go func() { invalid <- c.check(own) }()
	files, err := render()
	if err := <-invalid; err != nil {
		return nil, err
	}
	return filled(files, err)
}

// manyValues is the number of values from which on the schema is checked before rendering, which
// then takes seconds. With fewer values, both take about as long and run at the same time.
const manyValues = 5000

// count returns the number of values in a tree, including itself.
func count(v any) int {
	n := 1
	switch node := v.(type) {
	case map[string]any:
		for _, v := range node {
			n += count(v)
		}
	case []any:
		for _, v := range node {
			n += count(v)
		}
	}
	return n
}

// filled leaves out templates whose output is empty.
func filled(files map[string]string, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(_, text string) bool { return strings.TrimSpace(text) == "" })
	return files, nil
}

// clone copies maps and lists.
func clone(v any) any {
	switch node := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for k, v := range node {
			out[k] = clone(v)
		}
		return out
	case []any:
		out := make([]any, len(node))
		for i, v := range node {
			out[i] = clone(v)
		}
		return out
	}
	return v
}

// maxDepth is more than the schema allows. Helm takes long to copy values that are
// nested thousands of levels deep.
const maxDepth = 100

func checkDepth(vals map[string]any) error {
	var errs promql.FieldErrors
	if depth(vals) > maxDepth {
		errs.Addf("values", "must be nested at most %d levels deep", maxDepth)
	}
	return errs.Err()
}

func depth(v any) int {
	deepest := 0
	switch node := v.(type) {
	case map[string]any:
		for _, v := range node {
			deepest = max(deepest, depth(v)+1)
		}
	case []any:
		for _, v := range node {
			deepest = max(deepest, depth(v)+1)
		}
	}
	return deepest
}

var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func topValues(c *Loaded, vals map[string]any, o Options) (chartutil.Values, error) {
	caps, errs := o.capabilities(c)
	if errs != nil {
		return nil, errs
	}
	release := chartutil.ReleaseOptions{
		Name:      o.Release,
		Namespace: o.Namespace,
		Revision:  1,
		IsUpgrade: o.IsUpgrade,
		IsInstall: !o.IsUpgrade,
	}
	if err := checkDepth(vals); err != nil {
		return nil, err
	}
	const ours = true // the schema is checked here, and compiled once
	return chartutil.ToRenderValuesWithSchemaValidation(c.Chart, vals, release, caps, ours)
}

// Validate returns [promql.FieldErrors] for the options that Helm, Kubernetes or the
// chart rejects.
func (o Options) Validate(c *Loaded) error {
	_, errs := o.capabilities(c)
	return errs.Err()
}

func (o Options) capabilities(c *Loaded) (*chartutil.Capabilities, promql.FieldErrors) {
	var errs promql.FieldErrors
	if err := chartutil.ValidateReleaseName(o.Release); err != nil {
		errs.Addf("release name",
			"must be at most 53 lower-case letters, digits, dashes and dots, with a letter or digit at both ends, got %q", o.Release)
	}
	if !namespaceName.MatchString(o.Namespace) {
		errs.Addf("namespace",
			"must be at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends, got %q", o.Namespace)
	}
	text := o.KubeVersion
	if text == "" {
		text = DefaultKubeVersion
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.APIVersions = append(caps.APIVersions[:len(caps.APIVersions):len(caps.APIVersions)], o.APIVersions...)
	version, err := chartutil.ParseKubeVersion(text)
	if err != nil {
		errs.Addf("Kubernetes version", "must be such as %s, got %q", DefaultKubeVersion, text)
		return nil, errs
	}
	caps.KubeVersion = *version
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, version.Version) {
		errs.Addf("Kubernetes version", "must be %s, got %s", want, text)
	}
	return caps, errs
}
