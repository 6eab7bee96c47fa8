package generate

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/fastmachinelearning/supersonic/promql"
)

// DashboardDir is the folder of the dashboards, relative to the chart's folder.
const DashboardDir = "files/dashboards"

// A board builds a dashboard in the model that Grafana reads from files.
//
//lint:ignore SA1019 its successor is for the API of newer Grafanas; Grafana 12 can't provision it from files
type board = dashboard.DashboardBuilder

// Dashboards returns the content of each dashboard by its path in the chart.
func Dashboards() (map[string][]byte, error) {
	formula, err := formulaExprs()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for file, builder := range map[string]*board{
		"default.json": overview(formula), "servers.json": triton(), "proxy.json": proxy(),
	} {
		d, err := builder.Build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		d.SchemaVersion = schemaVersion
		d.Links[0].Placement = nil // beside the variables, not in a menu
		number(d.Panels)
		text, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		files[path.Join(DashboardDir, file)] = append(text, '\n')
	}
	return files, nil
}

// number assigns ids to the rows and panels of a dashboard, in order.
func number(all []dashboard.PanelOrRowPanel) {
	for i, p := range all {
		id := uint32(i + 1)
		if p.RowPanel != nil {
			p.RowPanel.Id = id
			continue
		}
		p.Panel.Id = &id
	}
}

// formulaExprs are the queries of the library for the selected release.
func formulaExprs() (map[string]string, error) {
	p := promql.ForRelease("$release", "$namespace")
	exprs := map[string]string{}
	for _, q := range recorded() {
		built, err := q.Build(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.Name, err)
		}
		exprs[camel(q.Name)] = built.String()
	}
	return exprs, nil
}

const (
	tag           = "supersonic"
	schemaVersion = 41 // of the Grafana in values.yaml; newer versions read it too
)

// newDashboard creates what all dashboards share: links to each other, and variables
// that select one release in one namespace, because the queries are about one fleet.
func newDashboard(uid, title string) *board {
	links := dashboard.NewDashboardLinkBuilder("SuperSONIC").
		Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).IncludeVars(true).KeepTime(true)
	prometheusName := &dashboard.StringOrArrayOfString{String: cog.ToPtr("prometheus")}
	//lint:ignore SA1019 see board
	return dashboard.NewDashboardBuilder(title).Uid(uid).Tags([]string{tag}).Version(1).
		Editable().Tooltip(dashboard.DashboardCursorSyncCrosshair).Refresh("10s").Time("now-3h", "now").
		Timezone(""). // the viewer's timezone
		Link(links).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("data source").Type("prometheus").
			Current(dashboard.VariableOption{Text: *prometheusName, Value: *prometheusName})).
		WithVariable(pick("namespace", "label_values(envoy_server_live, namespace)")).
		WithVariable(pick("release", `label_values(envoy_server_live{namespace="$namespace"}, release)`))
}

func pick(name, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(name).Datasource(source()).Definition(query).
		Query(dashboard.StringOrMap{Map: map[string]any{"qryType": 1, "query": query, "refId": name}}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(false).IncludeAll(false)
}

// source is the data source that the first variable selects, so that a dashboard works in any Grafana.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

func row(title string) *dashboard.RowBuilder { return dashboard.NewRowBuilder(title) }

// Widths and heights of panels, on a grid that is 24 wide.
const (
	sixth     = 4
	third     = 8
	half      = 12
	twoThirds = 16

	numberHeight = 4
	graphHeight  = 8
)

// A target is one expression of a panel. If its name is that of a query, or of a
// number in the values, the chart replaces the expression by that of the values.
type target struct {
	name   string // the refId
	expr   string
	legend string
}

func (t target) query() *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().RefId(t.name).Expr(t.expr).LegendFormat(t.legend).Datasource(source())
}

// value is a panel that shows a number.
func value(title, unit, description string, t target) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Unit(unit).Description(description).Datasource(source()).
		WithTarget(t.query().Instant()).Span(sixth).Height(numberHeight).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
			Steps([]dashboard.Threshold{{Color: "blue"}})).
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone).
		TextMode(common.BigValueTextModeValueAndName).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}).Fields("").Values(false))
}

// graph is a panel that shows lines over time.
func graph(width uint32, title, unit, description string, targets ...target) *timeseries.PanelBuilder {
	g := timeseries.NewPanelBuilder().Title(title).Unit(unit).Description(description).Datasource(source()).
		Span(width).Height(graphHeight).Min(0).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassic)).
		LineWidth(1).FillOpacity(8).ShowPoints(common.VisibilityModeNever).SpanNulls(common.BoolOrFloat64{Bool: cog.ToPtr(false)}).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if unit == units.PercentUnit {
		g = g.Max(1)
	}
	for _, t := range targets {
		g = g.WithTarget(t.query().Range())
	}
	return g
}

// stacked fills the areas between the lines of a graph.
func stacked(g *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	return g.FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
}
