package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// objectMeta is the schema of metadata, which custom resource definitions leave out.
const objectMeta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// schemaOf finds and compiles the schema of an object's API version and kind.
func (v *Validator) schemaOf(doc map[string]any) (*jsonschema.Schema, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	apiVersion, kind := text(doc, "apiVersion"), text(doc, "kind")
	if apiVersion == "" || kind == "" {
		return nil, fmt.Errorf("apiVersion, kind: must be set, got %q and %q", apiVersion, kind)
	}
	if err := v.load(apiVersion); err != nil {
		return nil, err
	}
	url, ok := v.kinds[apiVersion+" "+kind]
	if !ok {
		return nil, fmt.Errorf("kind: Kubernetes %s with KEDA and the Prometheus operator has no %s in %s", v.version, kind, apiVersion)
	}
	return v.compiler.Compile(url)
}

// load adds the OpenAPI documents that may define an API version.
func (v *Validator) load(apiVersion string) error {
	group, _, hasGroup := strings.Cut(apiVersion, "/")
	prefix := "api__"
	if hasGroup {
		prefix = "apis__"
	}
	name := prefix + strings.ReplaceAll(apiVersion, "/", "__") + "_openapi.json"
	err := v.loadKubernetes(filepath.Join(v.kubernetes, name))
	if !errors.Is(err, fs.ErrNotExist) || !hasGroup {
		return err
	}
	for _, dir := range v.customs {
		files, err := filepath.Glob(filepath.Join(dir, group+"_*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := v.loadCustom(file); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func (v *Validator) loadKubernetes(file string) error {
	url := "file://" + file
	if v.added[url] {
		return nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for name, s := range members(members(doc.(map[string]any), "components"), "schemas") {
		s := s.(map[string]any)
		strict(s)
		if name == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
			delete(s, "oneOf")
			s["format"] = quantity
		}
		gvks, _ := s["x-kubernetes-group-version-kind"].([]any)
		for _, gvk := range gvks {
			v.kinds[apiVersionAndKind(gvk.(map[string]any))] = url + "#/components/schemas/" + name
		}
	}
	v.added[url] = true
	return v.compiler.AddResource(url, doc)
}

func apiVersionAndKind(gvk map[string]any) string {
	version := text(gvk, "version")
	if group := text(gvk, "group"); group != "" {
		version = group + "/" + version
	}
	return version + " " + text(gvk, "kind")
}

// loadCustom adds the versions of a custom resource definition.
func (v *Validator) loadCustom(file string) error {
	url := "file://" + file
	if v.added[url] {
		return nil
	}
	core := filepath.Join(v.kubernetes, "api__v1_openapi.json")
	if err := v.loadKubernetes(core); err != nil {
		return err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	doc, err := object(raw)
	if err != nil {
		return err
	}
	spec := members(doc, "spec")
	versions, _ := spec["versions"].([]any)
	for i, version := range versions {
		version := version.(map[string]any)
		s := members(members(version, "schema"), "openAPIV3Schema")
		strict(s)
		members(s, "properties")["metadata"] = map[string]any{"$ref": "file://" + core + objectMeta}
		apiVersion := text(spec, "group") + "/" + text(version, "name")
		v.kinds[apiVersion+" "+text(members(spec, "names"), "kind")] = fmt.Sprintf("%s#/spec/versions/%d/schema/openAPIV3Schema", url, i)
	}
	v.added[url] = true
	return v.compiler.AddResource(url, doc)
}

// members returns an object inside another one, or nil, which acts as an empty one.
func members(m map[string]any, key string) map[string]any {
	inner, _ := m[key].(map[string]any)
	return inner
}
