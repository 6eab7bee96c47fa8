package generate

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/fastmachinelearning/supersonic/promql"
)

// DashboardDir is where the chart keeps its dashboards, from the chart's folder.
const DashboardDir = "files/dashboards"

// dashboard describes one of the chart's dashboards.
type dashboard struct {
	file, uid, title string
	rows             []row
}

type row struct {
	title  string
	panels []panel
}

// panel is a graph, or a number if stat is set.
type panel struct {
	title, description string
	unit               string // of Grafana: short, s, ms, reqps, percentunit, bytes
	stat               bool
	stacked            bool
	width              int // of 24; 0 means a third
	targets            []target
}

// target is one expression of a panel. If its name is that of a query or of a
// number of the values, the chart replaces it with the expression of its values.
type target struct {
	name   string // the refId
	expr   string
	legend string
}

// Dashboards returns the content of each dashboard by its path in the chart.
func Dashboards() (map[string][]byte, error) {
	formula, err := formulaTargets()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, d := range []dashboard{overview(formula), triton(), proxy()} {
		text, err := json.MarshalIndent(d.grafana(), "", " ")
		if err != nil {
			return nil, err
		}
		files[path.Join(DashboardDir, d.file)] = append(text, '\n')
	}
	return files, nil
}

// formulaTargets are the queries of the library for the selected release.
func formulaTargets() (map[string]string, error) {
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

const gridWidth = 24

func (d dashboard) grafana() map[string]any {
	var panels []any
	id, y := 0, 0
	next := func() int { id++; return id }
	for _, r := range d.rows {
		panels = append(panels, map[string]any{
			"id": next(), "type": "row", "title": r.title, "collapsed": false, "panels": []any{},
			"gridPos": grid(0, y, gridWidth, 1),
		})
		y++
		x, tallest := 0, 0
		for _, p := range r.panels {
			width, height := p.size()
			if x+width > gridWidth {
				x, y, tallest = 0, y+tallest, 0
			}
			panels = append(panels, p.grafana(next(), grid(x, y, width, height)))
			x, tallest = x+width, max(tallest, height)
		}
		y += tallest
	}
	return map[string]any{
		"uid": d.uid, "title": d.title, "tags": []string{"supersonic"}, "schemaVersion": 41, "version": 1,
		"editable": true, "graphTooltip": 1, "refresh": "10s",
		"time":       map[string]string{"from": "now-3h", "to": "now"},
		"links":      []any{map[string]any{"type": "dashboards", "title": "SuperSONIC", "tags": []string{"supersonic"}, "includeVars": true, "keepTime": true, "asDropdown": false}},
		"templating": map[string]any{"list": variables()},
		"panels":     panels,
	}
}

func grid(x, y, w, h int) map[string]int { return map[string]int{"x": x, "y": y, "w": w, "h": h} }

func (p panel) size() (width, height int) {
	switch {
	case p.stat && p.width == 0:
		return 4, 4
	case p.stat:
		return p.width, 4
	case p.width == 0:
		return 8, 8
	}
	return p.width, 8
}

// source is the data source that the first variable selects, so that a dashboard works in any Grafana.
var source = map[string]string{"type": "prometheus", "uid": "${datasource}"}

// variables select one release in one namespace: the queries are those of one fleet.
func variables() []any {
	pick := func(name, query string) map[string]any {
		return map[string]any{
			"type": "query", "name": name, "label": name, "datasource": source, "definition": query,
			"query": map[string]any{"qryType": 1, "query": query, "refId": name}, "refresh": 2, "sort": 1,
			"multi": false, "includeAll": false,
		}
	}
	return []any{
		map[string]any{
			"type": "datasource", "name": "datasource", "label": "data source", "query": "prometheus",
			"current": map[string]string{"text": "prometheus", "value": "prometheus"},
		},
		pick("namespace", "label_values(envoy_server_live, namespace)"),
		pick("release", `label_values(envoy_server_live{namespace="$namespace"}, release)`),
	}
}

func (p panel) grafana(id int, pos map[string]int) map[string]any {
	var targets []any
	for _, t := range p.targets {
		targets = append(targets, map[string]any{
			"refId": t.name, "expr": t.expr, "legendFormat": t.legend, "datasource": source, "range": !p.stat, "instant": p.stat,
		})
	}
	g := map[string]any{
		"id": id, "title": p.title, "description": p.description, "gridPos": pos, "datasource": source, "targets": targets,
		"type": "timeseries", "fieldConfig": map[string]any{"defaults": p.field(), "overrides": []any{}},
		"options": map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": map[string]string{"mode": "multi", "sort": "desc"},
		},
	}
	if p.stat {
		g["type"] = "stat"
		g["options"] = map[string]any{
			"colorMode": "value", "graphMode": "none", "textMode": "value_and_name",
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		}
	}
	return g
}

func (p panel) field() map[string]any {
	f := map[string]any{"unit": p.unit, "color": map[string]string{"mode": "palette-classic"}}
	if p.stat {
		f["color"] = map[string]string{"mode": "thresholds"}
		f["thresholds"] = map[string]any{"mode": "absolute", "steps": []any{map[string]any{"color": "blue", "value": nil}}}
		return f
	}
	f["min"] = 0
	if p.unit == "percentunit" {
		f["max"] = 1
	}
	custom := map[string]any{"lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": false}
	if p.stacked {
		custom["fillOpacity"] = 40
		custom["stacking"] = map[string]string{"mode": "normal", "group": "A"}
	}
	f["custom"] = custom
	return f
}
