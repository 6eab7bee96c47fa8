package chart_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/test/golden"
	"github.com/fastmachinelearning/supersonic/internal/test/manifest"
	"github.com/fastmachinelearning/supersonic/promql"
)

const goldenDir = "../../../golden"

// Each values file renders to its golden folder.
func TestGoldens(t *testing.T) {
	forEachValuesFile(t, func(t *testing.T, c valuesCase) {
		got := c.manifests(t)
		s := c.scaling(t)
		for _, named := range promql.Queries() {
			if named.Threshold == nil {
				continue
			}
			q, err := s.Query(named)
			if err != nil {
				t.Fatal(err)
			}
			got[named.Name+".promql"] = q.Pretty() + "\n"
		}
		for path, text := range got {
			got[path] = abridged(c.name, path, text)
		}
		golden.CompareDir(t, filepath.Join(goldenDir, c.name), got)
	})
}

// Every golden folder has its values file.
func TestGoldenFolders(t *testing.T) {
	known := map[string]bool{}
	for _, c := range cases(t) {
		known[c.name] = true
	}
	for _, name := range golden.Dirs(t, goldenDir, known) {
		if !known[name] {
			t.Errorf("golden/%s: no values/values-%s.yaml", name, name)
		}
	}
}

func TestGoldensStable(t *testing.T) {
	c := cases(t)[0]
	first := c.manifests(t)
	for range 5 {
		again, err := render.Chart(manifest.Chart(t), c.vals, c.options())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range first {
			if again[name] != text {
				t.Fatalf("%s: renders differently on a second run", name)
			}
		}
	}
}

// Every template is rendered by some values file.
func TestTemplatesCovered(t *testing.T) {
	rendered := map[string]bool{}
	for _, c := range cases(t) {
		for name := range c.manifests(t) {
			rendered["templates/"+name] = true
		}
	}
	var missing []string
	for _, template := range manifest.Chart(t).Templates {
		base := filepath.Base(template.Name)
		if base[0] != '_' && base != "errors.yaml" && !rendered[template.Name] {
			missing = append(missing, template.Name)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("no values file renders %q: add one that does", missing)
	}
}

// inFull names the golden folders that contain a long text in full. The others contain a line with its digest, so that a
// change of the text shows as one diff.
var inFull = map[string]string{
	"grafana/dashboards.yaml":  "minimal-full",
	"envoy/lua-configmap.yaml": "scale-from-zero",
	"envoy/configmap.yaml":     "scale-from-zero",
	"tests/fleet-ready.yaml":   "minimal-full",
}

// longText is the line above a dashboard, a Lua program or a script.
var longText = regexp.MustCompile(`^( *)(?:\S+\.json:|inline_string:|-) \|-?$`)

// abridged returns a manifest as it is stored in a golden folder.
func abridged(folder, path, manifest string) string {
	if full, ok := inFull[path]; !ok || full == folder {
		return manifest
	}
	var kept []string
	lines := strings.SplitAfter(manifest, "\n")
	for len(lines) > 0 {
		kept = append(kept, lines[0])
		m := longText.FindStringSubmatch(strings.TrimSuffix(lines[0], "\n"))
		lines = lines[1:]
		if m == nil {
			continue
		}
		table, code := block(lines, len(m[1]))
		kept = append(append(kept, lines[:table]...), digest(lines[table:code], len(m[1])))
		lines = lines[code:]
	}
	return strings.Join(kept, "")
}

// block returns the number of lines of a text that is indented more than its key, and of the table at the beginning of a
// Lua program, which differs between folders.
func block(lines []string, indent int) (table, all int) {
	end := strings.Repeat(" ", indent+2) + "}\n"
	for all < len(lines) && (strings.TrimSpace(lines[all]) == "" || strings.HasPrefix(lines[all], strings.Repeat(" ", indent+1))) {
		all++
		if table == 0 && lines[all-1] == end && strings.HasSuffix(lines[0], "local config = {\n") {
			table = all
		}
	}
	return table, all
}

func digest(lines []string, indent int) string {
	return fmt.Sprintf("%*s# %d lines, sha256 %x\n", indent+2, "", len(lines), sha256.Sum256([]byte(strings.Join(lines, ""))))
}

// TestDigestsSeeEveryLine checks that a change of any line changes the digest.
func TestDigestsSeeEveryLine(t *testing.T) {
	for path, folder := range inFull {
		whole, ok := named(t, folder).manifests(t)[path]
		if !ok {
			t.Fatalf("%s does not render %s", folder, path)
		}
		short := abridged("other", path, whole)
		if strings.Count(short, "\n") > strings.Count(whole, "\n")-30 {
			t.Errorf("%s: nothing long is left out", path)
		}
		lines := strings.SplitAfter(whole, "\n")
		for i, line := range lines {
			lines[i] = " " + line
			if abridged("other", path, strings.Join(lines, "")) == short {
				t.Errorf("%s:%d: a change is not seen", path, i+1)
			}
			lines[i] = line
		}
	}
}
