package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// An Image is one that the pods of a release run.
type Image struct {
	Name   string   // as the manifests have it: name:tag, name@sha256:… or both
	Digest string   // sha256:…; empty if the name has none
	Keys   []string // the values that name it, such as triton.image
}

// Images renders as [Chart] does, and gives the images of all pods, those of hooks too,
// each once, by name.
func Images(c *Loaded, vals map[string]any, o Options) ([]Image, error) {
	docs, err := Documents(c, vals, o)
	if err != nil {
		return nil, err
	}
	all, err := Values(c, vals)
	if err != nil {
		return nil, err
	}
	found := map[string]*Image{}
	for _, d := range docs {
		names, err := podImages(d.Text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Source, err)
		}
		for _, name := range names {
			_, digest, _ := strings.Cut(name, "@")
			found[name] = &Image{Name: name, Digest: digest}
		}
	}
	eachImage("", all, func(key, name string) {
		for _, image := range found {
			after, ok := strings.CutPrefix(image.Name, name)
			if ok && (after == "" || strings.HasSuffix(key, repository) && strings.ContainsAny(after[:1], ":@")) {
				image.Keys = append(image.Keys, key)
			}
		}
	})
	var images []Image
	for _, image := range found {
		slices.Sort(image.Keys)
		images = append(images, *image)
	}
	slices.SortFunc(images, func(a, b Image) int { return cmp.Compare(a.Name, b.Name) })
	return images, nil
}

// repository ends a key whose image has a tag and a digest in keys beside it.
const repository = ".image.repository"

// eachImage calls visit with each key that names an image, and with what it says.
func eachImage(key string, v any, visit func(key, name string)) {
	switch node := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			at := strings.TrimPrefix(key+"."+name, ".")
			text, isText := node[name].(string)
			if isText && (name == "image" || strings.HasSuffix(at, repository) || strings.HasSuffix(at, ".image.reference")) {
				visit(at, text)
			}
			eachImage(at, node[name], visit)
		}
	case []any:
		for i, item := range node {
			eachImage(key+"["+strconv.Itoa(i)+"]", item, visit)
		}
	}
}

type podSpec struct {
	InitContainers []struct{ Image string }
	Containers     []struct{ Image string }
	Volumes        []struct{ Image struct{ Reference string } }
}

func (p podSpec) images() []string {
	var names []string
	for _, c := range append(p.InitContainers, p.Containers...) {
		names = append(names, c.Image)
	}
	for _, v := range p.Volumes {
		names = append(names, v.Image.Reference)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// podImages are the images in an object that is a pod or makes some.
func podImages(text string) ([]string, error) {
	var pod struct{ Spec podSpec }
	var workload struct {
		Spec struct{ Template struct{ Spec podSpec } }
	}
	var head struct{ Kind string }
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return nil, err
	}
	switch head.Kind {
	case "Pod":
		err := yaml.Unmarshal([]byte(text), &pod)
		return pod.Spec.images(), err
	case "Deployment":
		err := yaml.Unmarshal([]byte(text), &workload)
		return workload.Spec.Template.Spec.images(), err
	}
	return nil, nil
}
