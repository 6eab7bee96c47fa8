// Package filter runs Envoy's Lua filter, as the chart renders it, without Envoy: in a Lua interpreter in Go, with a
// stand-in for the stream handle and its own clock.
package filter

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/chart"
)

// Settings are the parameters of the chart's templates of the gate, as parsed from JSON. See _gate.tpl.
type Settings map[string]any

// Defaults returns the settings of the chart's defaults with the gate, a threshold of 3 and a Prometheus without TLS.
func Defaults(t testing.TB) Settings {
	t.Helper()
	parts := map[string]any{}
	for _, name := range []string{"filter", "filter-json", "filter-stats", "filter-prometheus", "filter-gate", "filter-hold"} {
		part, err := fs.ReadFile(chart.FS(), "files/envoy-"+name+".lua")
		if err != nil {
			t.Fatal(err)
		}
		parts[name] = string(part)
	}
	return Settings{
		"parts": parts,
		"limiter": map[string]any{
			"enabled": true, "methods": []any{"/inference.GRPCInferenceService/RepositoryIndex"},
			"cacheSeconds": 1.0, "timeoutSeconds": 1.0, "unknownLoad": "open", "lastKnownSeconds": 60.0,
			"statusCode": 8.0, "ramp": 0.0, "maxAnswerBytes": 65536.0,
		},
		"hold":      map[string]any{"enabled": false, "maxSeconds": 300.0, "maxCalls": 1000.0, "pollSeconds": 0.25},
		"share":     250.0,
		"query":     "vector(1)",
		"threshold": 3.0,
		"prometheus": map[string]any{
			"scheme": "http", "host": "prometheus", "port": 9090.0, "path": "", "serverName": "", "caFile": "",
			"insecureSkipVerify": false, "auth": map[string]any{"type": "none"}, "headers": map[string]any{},
		},
		"cluster": "triton_grpc_service", "statPrefix": "ingress_grpc", "directory": "/etc/envoy/gate",
	}
}

// With returns a copy with the value at a path such as "limiter.ramp" replaced.
func (s Settings) With(path string, value any) Settings {
	s = maps.Clone(s)
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		s[head] = value
		return s
	}
	inner, _ := s[head].(map[string]any)
	s[head] = map[string]any(Settings(inner).With(rest, value))
	return s
}

// templates parses _gate.tpl, with the functions that Helm's engine adds to sprig's.
var templates = sync.OnceValues(func() (*template.Template, error) {
	text, err := fs.ReadFile(chart.FS(), "templates/envoy/_gate.tpl")
	if err != nil {
		return nil, err
	}
	t := template.New("gate").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data any) (string, error) {
		var out strings.Builder
		err := t.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["toYaml"] = func(v any) (string, error) {
		text, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["fromYaml"] = func(text string) (m map[string]any, err error) { return m, yaml.Unmarshal([]byte(text), &m) }
	return t.Funcs(functions).Parse(string(text))
})

// Render executes a define of _gate.tpl, as Helm's engine does.
func (s Settings) Render(define string) (string, error) {
	t, err := templates()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(s) // the chart passes the settings as JSON
	if err != nil {
		return "", err
	}
	var data map[string]any
	if err := json.Unmarshal(text, &data); err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.ExecuteTemplate(&out, "supersonic.gate."+define, data)
	return out.String(), err
}

// Files returns the files that the chart mounts for the gate, by name.
func (s Settings) Files() (map[string]string, error) {
	text, err := s.Render("files")
	if err != nil {
		return nil, err
	}
	var files map[string]string
	return files, yaml.Unmarshal([]byte(text), &files)
}

// Source returns the Lua that Envoy runs.
func (s Settings) Source() (string, error) {
	files, err := s.Files()
	if err != nil {
		return "", err
	}
	return Source(files["gate.yaml"])
}

// Source returns the Lua in a rendered gate.yaml.
func Source(gate string) (string, error) {
	var discovery struct {
		Resources []struct {
			TypedConfig struct {
				DefaultSourceCode struct {
					InlineString string `json:"inline_string"`
				} `json:"default_source_code"`
			} `json:"typed_config"`
		} `json:"resources"`
	}
	if err := yaml.Unmarshal([]byte(gate), &discovery); err != nil {
		return "", fmt.Errorf("gate.yaml: %w", err)
	}
	if len(discovery.Resources) != 1 {
		return "", fmt.Errorf("gate.yaml: %d resources, not 1", len(discovery.Resources))
	}
	return discovery.Resources[0].TypedConfig.DefaultSourceCode.InlineString, nil
}
