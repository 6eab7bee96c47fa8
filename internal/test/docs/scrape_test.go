package docs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

type jobs struct {
	Jobs []map[string]any `json:"scrape_configs"`
}

// The jobs for an external Prometheus are those of the embedded one, which are tested with a real Prometheus.
func TestScrapeJobs(t *testing.T) {
	embedded := manifest.Data(t, manifest.Render(t, "prometheus: {enabled: true}"), "prometheus/configmap.yaml")["prometheus.yml"]
	var want jobs
	if err := yaml.Unmarshal([]byte(embedded), &want); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if b.language != "yaml" || elsewhere[p.name+" yaml"] != t.Name() {
				continue
			}
			var got jobs
			if err := yaml.Unmarshal([]byte(b.text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Jobs, got.Jobs); diff != "" {
				t.Errorf("%s has other jobs than the embedded Prometheus (-embedded +page):\n%s", p.name, diff)
			}
			compared++
		}
	}
	if compared != 2 {
		t.Errorf("%d pages have the jobs, want those of observability and migration", compared)
	}
}
