package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/fastmachinelearning/supersonic/promql"
)

// A Document is one rendered object, as Helm would send it to a cluster.
type Document struct {
	Source string // path of its template, which begins with the chart's name: supersonic/templates/…
	Text   string // YAML
	Hook   bool   // runs at an event of the release, and is not part of it
	Test   bool   // a hook that `helm test` runs
}

// String is the document as `helm template` prints it.
func (d Document) String() string { return "---\n# Source: " + d.Source + "\n" + d.Text + "\n" }

// Rendered is the result of rendering a chart.
type Rendered struct {
	Documents []Document // in the order in which Helm installs them; hooks come last
	Notes     string     // what Helm prints after an installation
	Warnings  promql.FieldErrors
}

// Documents renders as [Chart] does, and returns the objects.
func Documents(c *Loaded, vals map[string]any, o Options) ([]Document, error) {
	r, err := All(c, vals, o)
	return r.Documents, err
}

// All renders as [Chart] does, and returns warnings if it is this project's chart.
func All(c *Loaded, vals map[string]any, o Options) (Rendered, error) {
	whole := *c.Chart
	if defines(c, warningsName) {
		whole.Templates = append(slices.Clone(whole.Templates), asking(warningsName))
	}
	rendered, err := files(&Loaded{&whole, c.schema}, vals, o)
	if err != nil {
		return Rendered{}, err
	}
	r := Rendered{
		Notes:    rendered[path.Join(c.Name(), "templates/NOTES.txt")],
		Warnings: fieldErrors(rendered[path.Join(c.Name(), askedFile)]),
	}
	maps.DeleteFunc(rendered, func(name, _ string) bool {
		return strings.HasSuffix(name, "NOTES.txt") || strings.HasSuffix(name, askedFile)
	})
	hooks, manifests, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		return Rendered{}, err
	}
	for _, m := range manifests {
		r.Documents = append(r.Documents, Document{Source: m.Name, Text: m.Content})
	}
	for _, h := range hooks {
		test := slices.Contains(h.Events, release.HookTest)
		r.Documents = append(r.Documents, Document{Source: h.Path, Text: h.Manifest, Hook: true, Test: test})
	}
	return r, nil
}

func defines(c *Loaded, name string) bool {
	return slices.ContainsFunc(c.Templates, func(t *helmchart.File) bool {
		return strings.Contains(string(t.Data), fmt.Sprintf("define %q", name))
	})
}
