package chart_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// An addressCase is a file of testdata/addresses: prometheus.external as a user
// writes it, and the configuration of each consumer.
type addressCase struct {
	External map[string]any `json:"external"`
	Want     consumers      `json:"want"`
}

type consumers struct {
	URL            string            `json:"url"`            // KEDA's serverAddress and Grafana's data source
	KEDA           map[string]string `json:"keda"`           // metadata of the trigger, without the query
	Authentication map[string]any    `json:"authentication"` // spec of KEDA's TriggerAuthentication
	Grafana        map[string]any    `json:"grafana"`        // the data source, without its name and URL
	Envoy          endpoint          `json:"envoy"`          // the gate's and the metrics collector's
	Files          []string          `json:"files"`          // in every pod that queries
}

// endpoint is Envoy's configuration of Prometheus.
type endpoint struct {
	Host, Authority, Path, SNI, Query string
	Port                              int
}

// All consumers of Prometheus use the same address.
func TestPrometheusAddress(t *testing.T) {
	files, err := filepath.Glob("testdata/addresses/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/addresses: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c addressCase
			if err := yaml.UnmarshalStrict(text, &c); err != nil {
				t.Fatal(err)
			}
			m, err := render.Chart(manifest.Chart(t), allConsumers(t, c.External), manifest.Options)
			if err != nil {
				t.Fatal(err)
			}
			got := consumers{
				URL:            trigger(t, m).Metadata["serverAddress"],
				KEDA:           beside(trigger(t, m).Metadata, "serverAddress", "query", "threshold", "activationThreshold", "ignoreNullValues"),
				Authentication: authentication(t, m),
				Grafana:        datasource(t, m, c.Want.URL),
				Envoy:          collectorEndpoint(t, m),
				Files:          clientFiles(t, m),
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.Want.Envoy, gateEndpoint(t, m)); diff != "" {
				t.Errorf("the gate's (-want +got):\n%s", diff)
			}
		})
	}
}

func allConsumers(t *testing.T, external map[string]any) map[string]any {
	vals := manifest.Values(t, `
serverLoadRateInterval: 2m
keda: {enabled: true}
envoy: {rate_limiter: {prometheus_based: {enabled: true}}}
grafana: {enabled: true}
metricsCollector: {enabled: true}
prometheus: {external: {enabled: true, scrapeInterval: 15s}}
`)
	into := vals["prometheus"].(map[string]any)["external"].(map[string]any)
	for key, value := range external {
		into[key] = value
	}
	return vals
}

func trigger(t *testing.T, m render.Manifests) render.Trigger {
	t.Helper()
	s, err := m.ScaledObject()
	if err != nil {
		t.Fatal(err)
	}
	return s.Spec.Triggers[0]
}

func beside(all map[string]string, keys ...string) map[string]string {
	for _, k := range keys {
		delete(all, k)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func authentication(t *testing.T, m render.Manifests) map[string]any {
	t.Helper()
	for _, o := range manifest.Objects(t, m, "prometheus/triggerauthentication.yaml") {
		if o["kind"] == "TriggerAuthentication" {
			return o["spec"].(map[string]any)
		}
	}
	return nil
}

func datasource(t *testing.T, m render.Manifests, wantURL string) map[string]any {
	t.Helper()
	var file struct{ Datasources []map[string]any }
	if err := yaml.Unmarshal([]byte(manifest.File(t, m, "grafana/grafana.yaml", "datasources.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	source := file.Datasources[0]
	if source["url"] != wantURL || source["uid"] != "prometheus" {
		t.Errorf("Grafana's data source is %v at %v, want prometheus at %s", source["uid"], source["url"], wantURL)
	}
	for _, key := range []string{"url", "uid", "name", "type", "access", "isDefault", "editable"} {
		delete(source, key)
	}
	return source
}

// clientFiles returns the files mounted in every pod that queries Prometheus, which
// must be the same.
func clientFiles(t *testing.T, m render.Manifests) []string {
	t.Helper()
	var first []string
	for i, path := range []string{"envoy/deployment.yaml", "grafana/grafana.yaml", "collector/collector.yaml"} {
		var names []string
		for _, o := range manifest.Objects(t, m, path) {
			if o["kind"] == "Deployment" {
				names = projected(t, o)
			}
		}
		if i == 0 {
			first = names
		} else if diff := cmp.Diff(first, names); diff != "" {
			t.Errorf("%s mounts other files than Envoy (-Envoy +%[1]s):\n%s", path, diff)
		}
	}
	return first
}

func projected(t *testing.T, deployment map[string]any) []string {
	t.Helper()
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Volumes []struct {
						Name      string
						Projected struct {
							Sources []map[string]struct {
								Name  string
								Items []struct{ Key, Path string }
							}
						}
					}
				}
			}
		}
	}
	text, err := yaml.Marshal(deployment)
	if err == nil {
		err = yaml.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name != "prometheus-client" {
			continue
		}
		for _, source := range v.Projected.Sources {
			for kind, from := range source {
				for _, item := range from.Items {
					files = append(files, kind+" "+from.Name+"/"+item.Key+" as "+item.Path)
				}
			}
		}
	}
	return files
}

// bootstrap is the part of an Envoy configuration with the address of Prometheus.
type bootstrap struct {
	StaticResources struct {
		Clusters []cluster `json:"clusters"`
	} `json:"static_resources"`
}

type cluster struct {
	Name           string `json:"name"`
	LoadAssignment struct {
		Endpoints []struct {
			LBEndpoints []struct {
				Endpoint struct {
					Address struct {
						SocketAddress struct {
							Address   string `json:"address"`
							PortValue int    `json:"port_value"`
						} `json:"socket_address"`
					} `json:"address"`
				} `json:"endpoint"`
			} `json:"lb_endpoints"`
		} `json:"endpoints"`
	} `json:"load_assignment"`
	TransportSocket struct {
		TypedConfig struct {
			SNI string `json:"sni"`
		} `json:"typed_config"`
	} `json:"transport_socket"`
}

func clusterEndpoint(t *testing.T, config, name string) endpoint {
	t.Helper()
	var b bootstrap
	if err := yaml.Unmarshal([]byte(config), &b); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.StaticResources.Clusters {
		if c.Name == name {
			at := c.LoadAssignment.Endpoints[0].LBEndpoints[0].Endpoint.Address.SocketAddress
			return endpoint{Host: at.Address, Port: at.PortValue, SNI: c.TransportSocket.TypedConfig.SNI}
		}
	}
	t.Fatalf("no cluster %s in\n%s", name, config)
	return endpoint{}
}

var (
	hostRewrite   = regexp.MustCompile(`host_rewrite_literal: "([^"]+)"`)
	federate      = regexp.MustCompile(`(\S*)/federate\?match\[\]=([^\s&\]]+)(?:&([^\s\]]+))?\]=*\]`)
	gateAuthority = regexp.MustCompile(`authority = \[=\[\s*(\S+)\]=\]`)
	gatePath      = regexp.MustCompile(`path = \[=+\[\s*(\S*)/api/v1/query(?:\?(\S+?))?\]=+\]`)
)

func collectorEndpoint(t *testing.T, m render.Manifests) endpoint {
	t.Helper()
	config := manifest.File(t, m, "collector/collector.yaml", "envoy.yaml")
	e := clusterEndpoint(t, config, "prometheus")
	e.Authority = hostRewrite.FindStringSubmatch(config)[1]
	found := federate.FindStringSubmatch(config)
	e.Path, e.Query = found[1], found[3]
	selector, err := url.QueryUnescape(found[2])
	if want := `{__name__=~"nv_.+|supersonic:.+",namespace="cms",release="sonic"}`; err != nil || selector != want {
		t.Errorf("the metrics collector asks for %s, want %s (%v)", selector, want, err)
	}
	return e
}

func gateEndpoint(t *testing.T, m render.Manifests) endpoint {
	t.Helper()
	e := clusterEndpoint(t, manifest.File(t, m, "envoy/configmap.yaml", "envoy.yaml"), "prometheus_cluster")
	gate := manifest.File(t, m, "envoy/lua-configmap.yaml", "gate.yaml")
	e.Authority = gateAuthority.FindStringSubmatch(gate)[1]
	found := gatePath.FindStringSubmatch(gate)
	e.Path, e.Query = found[1], found[2]
	return e
}
