package chart_test

import (
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

var (
	runs = flag.Int("runs", 300, "random values files of TestRandomValues")
	seed = flag.Uint64("random-seed", 1, "of TestRandomValues; 0 means a new one")
)

// Values that the checks accept render, whatever they are, to objects of the kinds, names and namespaces that
// testdata/objects.txt lists. All others are refused in a user's words.
func TestRandomValues(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	allowed, accepted := allowedObjects(t), 0
	doc, _ := schema(t)
	engine := byHelm(t)
	if *runs > 1000 { // An hour for a million, in place of a day.
		engine = newOnceEngine(t).render
	}
	for i := range *runs {
		g := generator{rand.New(rand.NewPCG(*seed, uint64(i))), doc}
		vals := g.values()
		objects, err := renderedObjects(engine, vals)
		if err == nil {
			accepted++
			err = allowed.check(objects)
		}
		var invalid promql.FieldErrors
		if err != nil && !errors.Is(err, errRefused) && !errors.As(err, &invalid) {
			text, _ := yaml.Marshal(vals)
			t.Fatalf("-random-seed %d, values %d: %v\n%s", *seed, i, err, text)
		}
		if i > 0 && i%10_000 == 0 {
			t.Logf("%d of %d, of which %d were accepted", i, *runs, accepted)
		}
	}
	if *runs >= 100 && accepted < *runs/20 {
		t.Errorf("%d of %d random values were accepted, too few to say anything", accepted, *runs)
	}
}

// randomOptions are those of Helm: a value that null removes is not an error.
var randomOptions = render.Options{Release: "sonic", Namespace: "cms"}

// byHelm renders with Helm's engine, as the command does.
func byHelm(t *testing.T) func(map[string]any) (render.Manifests, error) {
	c := manifest.Chart(t)
	return func(vals map[string]any) (render.Manifests, error) { return render.Chart(c, vals, randomOptions) }
}

func renderedObjects(engine func(map[string]any) (render.Manifests, error), vals map[string]any) ([]map[string]any, error) {
	m, err := engine(vals)
	if err != nil {
		return nil, err
	}
	delete(m, "NOTES.txt")
	var all []map[string]any
	for path, text := range m {
		for part := range strings.SplitSeq(text, "\n---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(part), &object); err != nil {
				return nil, errors.New(path + ": " + err.Error())
			}
			if object != nil {
				all = append(all, object)
			}
		}
	}
	return all, nil
}

// objectsAllowed are patterns of "KIND NAMESPACE/NAME".
type objectsAllowed []*regexp.Regexp

// allowedObjects reads testdata/objects.txt.
func allowedObjects(t *testing.T) objectsAllowed {
	t.Helper()
	text, err := os.ReadFile("testdata/objects.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all objectsAllowed
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			all = append(all, regexp.MustCompile("^"+strings.Replace(line, "NAME", `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, 1)+"$"))
		}
	}
	return all
}

func (a objectsAllowed) check(objects []map[string]any) error {
	for _, o := range objects {
		if !slices.ContainsFunc(a, func(r *regexp.Regexp) bool { return r.MatchString(objectID(o)) }) {
			return errors.New("an object that testdata/objects.txt does not list: " + objectID(o))
		}
	}
	return nil
}

func objectID(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	kind, _ := object["kind"].(string)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	return kind + " " + namespace + "/" + name
}

// Each line of testdata/objects.txt is an object that some values file renders.
func TestObjectsAreRendered(t *testing.T) {
	seen := map[string]bool{}
	for _, vals := range append(slices.Collect(maps.Values(examples(t))), manifest.Values(t, everyPart+everyObject)) {
		objects, err := renderedObjects(byHelm(t), vals)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			seen[objectID(o)] = true
		}
	}
	for _, pattern := range allowedObjects(t) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), pattern.MatchString) {
			t.Errorf("testdata/objects.txt: nothing renders %s", pattern)
		}
	}
}

func examples(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, c := range cases(t) {
		all[c.name] = c.vals
	}
	return all
}

// everyObject has what no values file has.
const everyObject = `
networkPolicy: {enabled: true}
`
