package envoy

import (
	"net"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"
)

// endpoints replaces the endpoints of clusters: Triton's by the stub of Triton, Prometheus' by the stub of Prometheus,
// and others by those in the options, or by an address where nothing listens.
func (p *Proxy) endpoints(t testing.TB, o ProxyOptions, bootstrap, merged string) map[string]string {
	t.Helper()
	to := map[string]string{}
	for _, c := range append(clusters(t, bootstrap), clusters(t, merged)...) {
		switch name, host := c.name, c.host; {
		case host == "" || net.ParseIP(host) != nil:
		case o.Endpoints[name] != "":
			to[name] = o.Endpoints[name]
		case name == "prometheus_cluster":
			to[name] = p.Prometheus.Addr
		case name != "triton_grpc_service" && name != "triton_grpc_health":
			to[name] = "127.0.0.1:1"
		case o.Resolver == "":
			to[name] = p.Triton.Addr
		}
	}
	return to
}

type cluster struct{ name, host string }

func clusters(t testing.TB, bootstrap string) []cluster {
	t.Helper()
	var b struct {
		StaticResources struct {
			Clusters []struct {
				Name           string `json:"name"`
				LoadAssignment struct {
					Endpoints []struct {
						LbEndpoints []struct {
							Endpoint struct {
								Address struct {
									SocketAddress struct {
										Address string `json:"address"`
									} `json:"socket_address"`
								} `json:"address"`
							} `json:"endpoint"`
						} `json:"lb_endpoints"`
					} `json:"endpoints"`
				} `json:"load_assignment"`
			} `json:"clusters"`
		} `json:"static_resources"`
	}
	if err := yaml.Unmarshal([]byte(bootstrap), &b); err != nil {
		t.Fatalf("envoy.yaml: %v", err)
	}
	var all []cluster
	for _, c := range b.StaticResources.Clusters {
		host := ""
		for _, e := range c.LoadAssignment.Endpoints {
			for _, l := range e.LbEndpoints {
				host = l.Endpoint.Address.SocketAddress.Address
			}
		}
		all = append(all, cluster{c.Name, host})
	}
	return all
}

// withResolver makes Envoy resolve every name with one DNS server.
func withResolver(t testing.TB, bootstrap, server string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := yaml.Unmarshal([]byte(bootstrap), &root); err != nil {
		t.Fatal(err)
	}
	root["typed_dns_resolver_config"] = map[string]any{
		"name": "envoy.network.dns_resolver.cares",
		"typed_config": map[string]any{
			"@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
			"resolvers": []any{map[string]any{
				"socket_address": map[string]any{"address": host, "port_value": number},
			}},
		},
	}
	text, err := yaml.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
