package chart_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
)

// bootstrap is the part of an Envoy configuration that says where Prometheus is.
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
	federate      = regexp.MustCompile(`(\S*)/federate\?match\[\]=(\S+)\]`)
	gateAuthority = regexp.MustCompile(`authority = \[=\[\s*(\S+)\]=\]`)
	gatePath      = regexp.MustCompile(`path = \[=\[\s*(\S*)/api/v1/query\]=\]`)
)

func collectorEndpoint(t *testing.T, m render.Manifests) endpoint {
	t.Helper()
	config := manifest.File(t, m, "collector/collector.yaml", "envoy.yaml")
	e := clusterEndpoint(t, config, "prometheus")
	e.Authority = hostRewrite.FindStringSubmatch(config)[1]
	found := federate.FindStringSubmatch(config)
	e.Path = found[1]
	selector, err := url.QueryUnescape(strings.TrimRight(found[2], "]="))
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
	e.Path = gatePath.FindStringSubmatch(gate)[1]
	return e
}
