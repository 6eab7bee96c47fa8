package generate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/fastmachinelearning/supersonic/internal/generate"
)

func TestDashboardsAreCurrent(t *testing.T) {
	want, err := generate.Dashboards()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join("../../chart", name))
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(text), string(got)); diff != "" {
			t.Errorf("%s is out of date, run `make generate` (-want +got):\n%s", name, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join("../../chart", generate.DashboardDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("%s holds %d files, and %d are generated", generate.DashboardDir, len(files), len(want))
	}
}

// dashboard is what the tests read of Grafana's model.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Multi bool   `json:"multi"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ X, Y, W, H int }
	Datasource  struct{ UID string }
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
	Targets []struct {
		RefID, Expr, LegendFormat string
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := generate.Dashboards()
	if err != nil {
		t.Fatal(err)
	}
	ds := map[string]dashboard{}
	for name, text := range files {
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ds[filepath.Base(name)] = d
	}
	return ds
}

// grafanaVariables stand for what Grafana puts into an expression.
var grafanaVariables = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$namespace", "cms", "$release", "sonic")

func TestEveryPanelSaysWhatItShows(t *testing.T) {
	for name, d := range dashboards(t) {
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: two panels have the id %d", name, p.ID)
			}
			ids[p.ID] = true
			if p.Type == "row" {
				continue
			}
			if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %q has description %q, unit %q, %d targets",
					name, p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
			}
			if p.Datasource.UID != "${datasource}" {
				t.Errorf("%s: panel %q reads %q, want the data source that is picked", name, p.Title, p.Datasource.UID)
			}
			refs := map[string]bool{}
			for _, target := range p.Targets {
				if target.LegendFormat == "" || refs[target.RefID] {
					t.Errorf("%s: panel %q, target %s: legend %q, or the name twice", name, p.Title, target.RefID, target.LegendFormat)
				}
				refs[target.RefID] = true
			}
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	for name, d := range dashboards(t) {
		for i, a := range d.Panels {
			if a.GridPos.X+a.GridPos.W > 24 {
				t.Errorf("%s: panel %q ends at column %d of 24", name, a.Title, a.GridPos.X+a.GridPos.W)
			}
			for _, b := range d.Panels[:i] {
				p, q := a.GridPos, b.GridPos
				if p.X < q.X+q.W && q.X < p.X+p.W && p.Y < q.Y+q.H && q.Y < p.Y+p.H {
					t.Errorf("%s: panels %q and %q overlap", name, a.Title, b.Title)
				}
			}
		}
	}
}

// TestExpressionsOfOneRelease checks that a dashboard adds up no two
// fleets, and that what it asks parses.
func TestExpressionsOfOneRelease(t *testing.T) {
	parse := parser.NewParser(parser.Options{})
	for name, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expr, err := parse.ParseExpr(grafanaVariables.Replace(target.Expr))
				if err != nil {
					t.Errorf("%s: panel %q: %s: %v", name, p.Title, target.Expr, err)
					continue
				}
				parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
					if s, ok := node.(*parser.VectorSelector); ok {
						text := s.String()
						if !strings.Contains(text, `namespace="cms"`) || !strings.Contains(text, `release="sonic"`) {
							t.Errorf("%s: panel %q reads %s, of any release", name, p.Title, text)
						}
					}
					return nil
				})
			}
		}
	}
}

func TestVariablesPickOneRelease(t *testing.T) {
	for name, d := range dashboards(t) {
		var got []string
		for _, v := range d.Templating.List {
			got = append(got, v.Name)
			if v.Multi {
				t.Errorf("%s: the variable %s takes several", name, v.Name)
			}
		}
		if diff := cmp.Diff([]string{"datasource", "namespace", "release"}, got); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", name, diff)
		}
	}
}
