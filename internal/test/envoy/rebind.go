package envoy

import (
	"fmt"
	"maps"
	"net"
	"os"
	"reflect"
	"strconv"

	"sigs.k8s.io/yaml"
)

// rebind moves the admin interface of a bootstrap to the given address and its TCP listeners to free ports, on loopback
// unless they are to listen everywhere. It gives unique names to other sockets, and replaces the endpoints of the named
// clusters, whose names it removes from the map. Endpoints of the admin interface move with it.
func rebind(bootstrap []byte, admin string, endpoints map[string]string, everywhere bool) ([]byte, error) {
	var root map[string]any
	if err := yaml.Unmarshal(bootstrap, &root); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	moved, err := socketAddress(admin)
	if err != nil {
		return nil, err
	}
	if old, ok := field(root, "admin", "address").(map[string]any); ok {
		root = replace(root, old, moved).(map[string]any)
	} else {
		root["admin"] = map[string]any{"address": moved}
	}
	resources, _ := root["static_resources"].(map[string]any)
	listeners, _ := resources["listeners"].([]any)
	for _, l := range listeners {
		if socket, ok := field(l, "address", "socket_address").(map[string]any); ok {
			socket["port_value"] = 0
			if !everywhere {
				socket["address"] = "127.0.0.1"
				delete(socket, "ipv4_compat")
			}
		}
		if pipe, ok := field(l, "address", "pipe").(map[string]any); ok {
			own := map[string]any{"path": fmt.Sprintf("%s_%d_%s", pipe["path"], os.Getpid(), admin)}
			root = replace(root, maps.Clone(pipe), own).(map[string]any)
		}
	}
	clusters, _ := resources["clusters"].([]any)
	if err := redirect(clusters, endpoints); err != nil {
		return nil, err
	}
	return yaml.Marshal(root)
}

func redirect(clusters []any, endpoints map[string]string) error {
	for _, c := range clusters {
		name, _ := field(c, "name").(string)
		to, ok := endpoints[name]
		if !ok {
			continue
		}
		delete(endpoints, name)
		address, err := socketAddress(to)
		if err != nil {
			return err
		}
		c.(map[string]any)["load_assignment"] = map[string]any{
			"cluster_name": name,
			"endpoints": []any{map[string]any{
				"lb_endpoints": []any{map[string]any{"endpoint": map[string]any{"address": address}}},
			}},
		}
	}
	return nil
}

func socketAddress(hostPort string) (map[string]any, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	return map[string]any{"socket_address": map[string]any{"address": host, "port_value": number}}, nil
}

// field follows keys into nested maps, and returns nil if one is missing.
func field(node any, keys ...string) any {
	for _, key := range keys {
		m, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = m[key]
	}
	return node
}

// replace returns the tree with each copy of old replaced.
func replace(node any, old, by map[string]any) any {
	if reflect.DeepEqual(node, any(old)) {
		return by
	}
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			n[key] = replace(child, old, by)
		}
	case []any:
		for i, child := range n {
			n[i] = replace(child, old, by)
		}
	}
	return node
}
