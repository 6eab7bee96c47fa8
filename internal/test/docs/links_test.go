// Package docs_test checks the pages for users: their links, the paths that they name, and their blocks of code.
package docs_test

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

const root = "../../.."

// A page is a page for users.
type page struct {
	name   string // path in the repository
	source []byte
	tree   ast.Node
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// pages returns all pages: those in the root and in docs/, and the chart's.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	for _, pattern := range []string{"*.md", "docs/*.md", "chart/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no pages: %v", pattern, err)
		}
		for _, name := range names {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			name, err = filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, page{filepath.ToSlash(name), source, markdown.Parse(text.NewReader(source))})
		}
	}
	return all
}

// each calls visit with every node of the page.
func (p page) each(visit func(n ast.Node)) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

// words returns the text below a node, without its markup.
func (p page) words(n ast.Node) string {
	var out strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if leaf, ok := c.(*ast.Text); ok {
			out.Write(leaf.Value(p.source))
		} else {
			out.WriteString(p.words(c))
		}
	}
	return out.String()
}

// anchors returns the anchors of the page's headings, as GitHub and the site create them.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	p.each(func(n ast.Node) {
		if n.Kind() != ast.KindHeading {
			return
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, p.words(n))
		unique := name
		for i := 1; all[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", name, i)
		}
		all[unique] = true
	})
	return all
}

// links returns the addresses of the page's links and pictures.
func (p page) links() []string {
	var all []string
	p.each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, string(n.Destination))
		case *ast.Image:
			all = append(all, string(n.Destination))
		}
	})
	return all
}

// broken describes what is wrong with a relative link, if anything. Links to other sites are not checked.
func broken(from, link string, anchors map[string]func() map[string]bool) error {
	u, err := url.Parse(link)
	if err != nil || u.Scheme == "https" {
		return err
	}
	if u.Scheme != "" || u.Host != "" || path.IsAbs(u.Path) {
		return fmt.Errorf("must be relative, or https")
	}
	target := from
	if u.Path != "" {
		target = path.Join(path.Dir(from), u.Path)
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return fmt.Errorf("no such file: %s", target)
	}
	if headings, ok := anchors[target]; u.Fragment != "" && (!ok || !headings()[u.Fragment]) {
		return fmt.Errorf("%s has no heading %s", target, u.Fragment)
	}
	return nil
}

// inRepository matches a path of this repository in code font; a word of capitals stands for any name.
var (
	inRepository = regexp.MustCompile(`^(chart|cmd|docs|golden|internal|promql|scripts|values)(/[\w.-]+)+/?$`)
	placeholder  = regexp.MustCompile(`[A-Z]{2,}`)
)

// Files and folders that a page names exist.
func TestPaths(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		if p.name == "CHANGELOG.md" { // It names removed files.
			continue
		}
		p.each(func(n ast.Node) {
			name := p.words(n)
			if n.Kind() != ast.KindCodeSpan || !inRepository.MatchString(name) {
				return
			}
			found++
			pattern := filepath.Join(root, placeholder.ReplaceAllString(name, "*"))
			if names, err := filepath.Glob(pattern); err != nil || len(names) == 0 {
				t.Errorf("%s: there is no %s", p.name, name)
			}
		})
	}
	if found == 0 {
		t.Error("found no path")
	}
}

func TestLinks(t *testing.T) {
	anchors := map[string]func() map[string]bool{}
	all := pages(t)
	for _, p := range all {
		anchors[p.name] = sync.OnceValue(p.anchors)
	}
	found := 0
	for _, p := range all {
		for _, link := range p.links() {
			found++
			if err := broken(p.name, link, anchors); err != nil {
				t.Errorf("%s: link to %s: %v", p.name, link, err)
			}
		}
	}
	if found == 0 {
		t.Error("found no link")
	}
	for link, want := range map[string]string{
		"no-such-page.md": "no such file: docs/no-such-page.md", "concepts.md#no-such-heading": "docs/concepts.md has no heading no-such-heading",
		"#no-such-heading": "docs/gate.md has no heading no-such-heading", "/etc": "must be relative, or https",
		"http://example.org": "must be relative, or https", "concepts.md#limits": "<nil>",
	} {
		if got := fmt.Sprint(broken("docs/gate.md", link, anchors)); got != want {
			t.Errorf("%s: got %s, want %s", link, got, want)
		}
	}
}

// The panels that docs/operating.md explains are those of the dashboard.
func TestPanels(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	dashboard, err := os.ReadFile(filepath.Join(root, "chart", "files", "dashboards", "default.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| question | panel |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]
	if len(rows) == 0 {
		t.Fatal("docs/operating.md has no table of panels")
	}
	for _, row := range rows {
		title := strings.TrimSpace(strings.Split(row, "|")[2])
		if !strings.Contains(string(dashboard), fmt.Sprintf(`"title": %q`, title)) {
			t.Errorf("docs/operating.md: the dashboard has no panel %q", title)
		}
	}
}
