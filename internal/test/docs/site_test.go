package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// The site has every page, with all its headings and blocks of code, and loads nothing from other sites.
func TestSite(t *testing.T) {
	tools.Path(t, "mkdocs")
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(root, "scripts", "site", "build.sh"), dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, p := range pages(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(p.name, ".md"), "README")
		html, err := os.ReadFile(filepath.Join(dir, name, "index.html"))
		if err != nil {
			t.Error(err)
			continue
		}
		for anchor := range p.anchors() {
			if !strings.Contains(string(html), ` id="`+anchor+`"`) {
				t.Errorf("%s: the site has no heading %s", p.name, anchor)
			}
		}
		want := 0
		p.each(func(n ast.Node) {
			if n.Kind() == ast.KindCodeBlock || n.Kind() == ast.KindFencedCodeBlock {
				want++
			}
		})
		if got := strings.Count(string(html), "<pre"); got != want {
			t.Errorf("%s: the site shows %d blocks of code, want %d", p.name, got, want)
		}
		for _, tag := range []string{`<script src="http`, `<link rel="stylesheet" href="http`, `<img src="http`} {
			if strings.Contains(string(html), tag) {
				t.Errorf("%s: the site loads something from another: %s", p.name, tag)
			}
		}
	}
}
