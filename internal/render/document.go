package render

import (
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// A Document is one rendered object, as Helm would send it to a cluster.
type Document struct {
	Source string // path of its template, from the chart's name: supersonic/templates/…
	Text   string // YAML
	Hook   bool   // run at an event of the release, not installed with it
	Test   bool   // a hook that `helm test` runs
}

// String is the document as `helm template` prints it.
func (d Document) String() string { return "---\n# Source: " + d.Source + "\n" + d.Text + "\n" }

// Documents renders as [Chart] does, and gives the objects in the order in which
// Helm installs them; hooks come last.
func Documents(c *Loaded, vals map[string]any, o Options) ([]Document, error) {
	rendered, err := files(c, vals, o)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(rendered, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	hooks, manifests, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	var docs []Document
	for _, m := range manifests {
		docs = append(docs, Document{Source: m.Name, Text: m.Content})
	}
	for _, h := range hooks {
		test := slices.Contains(h.Events, release.HookTest)
		docs = append(docs, Document{Source: h.Path, Text: h.Manifest, Hook: true, Test: test})
	}
	return docs, nil
}
