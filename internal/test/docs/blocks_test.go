package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"github.com/fastmachinelearning/supersonic/internal/cli"
	"github.com/fastmachinelearning/supersonic/internal/sim"
	"github.com/fastmachinelearning/supersonic/internal/test/apiserver"
	"github.com/fastmachinelearning/supersonic/internal/test/tools"
)

// The test binary is the command supersonic if it is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "supersonic" {
		os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A block is a block of code. A comment directly before it in the page may say why no test runs it.
type block struct {
	language, text, reason string
}

var notRun = regexp.MustCompile(`^<!-- Not run: (.+)\. -->\s*$`)

// blocks returns the blocks of a page. Indented ones have no language.
func (p page) blocks() []block {
	var all []block
	p.each(func(n ast.Node) {
		b := block{}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			b.language = string(n.Language(p.source))
		case *ast.CodeBlock:
		default:
			return
		}
		b.text = lines(n, p.source)
		if before := n.PreviousSibling(); before != nil && before.Kind() == ast.KindHTMLBlock {
			if m := notRun.FindStringSubmatch(lines(before, p.source)); m != nil {
				b.reason = m[1]
			}
		}
		all = append(all, b)
	})
	return all
}

func lines(n ast.Node, source []byte) string {
	var out strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		out.Write(segment.Value(source))
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		out.Write(html.ClosureLine.Value(source))
	}
	return out.String()
}

// elsewhere names the blocks that another test checks, by page and language.
var elsewhere = map[string]string{
	"docs/command.md console": "internal/cli",
	"docs/command.md yaml":    "internal/cli",
	"docs/concepts.md promql": "promql",
	"docs/migrating.md yaml":  "TestScrapeJobs",
	"docs/observing.md yaml":  "TestScrapeJobs",
}

var yamlKey = regexp.MustCompile(`^(# .*\n)*[a-zA-Z-]+:(\s|$)`)

// Every block of code is run by a test, or says why not.
func TestBlocks(t *testing.T) {
	for _, p := range pages(t) {
		t.Run(strings.ReplaceAll(p.name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			var shell *shell
			for _, b := range p.blocks() {
				switch {
				case b.reason != "" || b.language == "text" || elsewhere[p.name+" "+b.language] != "":
				case b.language == "go":
					compile(t, b.text)
				case p.name == "docs/simulating.md" && b.language == "yaml":
					if _, err := sim.Load(file(t, "scenario.yaml", b.text)); err != nil {
						t.Errorf("%v\n%s", err, b.text)
					}
				case yamlKey.MatchString(b.text):
					lint(t, b.text)
				default:
					if shell == nil {
						shell = newShell(t, p.name)
					}
					shell.run(b.text)
				}
			}
		})
	}
}

// file writes a file into a new folder.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lint checks a block that is a values file, or the part of one with a Prometheus.
func lint(t *testing.T, text string) {
	t.Helper()
	var said strings.Builder
	base := file(t, "base.yaml", "prometheus: {enabled: true}")
	if code := cli.Run(t.Context(), []string{"lint", "-f", base, file(t, "values.yaml", text)}, nil, &said, &said); code != 0 {
		t.Errorf("%s\n%s", text, said.String())
	}
}

// compile compiles a block that is the body of a function that uses the library.
func compile(t *testing.T, text string) {
	t.Helper()
	const program = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/fastmachinelearning/supersonic/promql\"\n)\n\n" +
		"func main() { _ = run() }\n\nfunc run() error {\n%s\n\treturn nil\n}\n"
	here, err := filepath.Abs(filepath.Join("example", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := fmt.Sprintf(`{"Replace": {%q: %q}}`, here, file(t, "main.go", fmt.Sprintf(program, text)))
	build := exec.Command("go", "build", "-o", os.DevNull, "-overlay", file(t, "overlay.json", overlay), "./example")
	if said, err := build.CombinedOutput(); err != nil {
		t.Errorf("%s\n%s", text, said)
	}
}

// A shell runs the commands of a page one after another, in a folder with the contents of an unpacked release and some
// files that readers have, with the command, Helm and a cluster.
type shell struct {
	t   *testing.T
	dir string
	env []string
}

// had holds the files that readers have.
var had = map[string]string{
	"values.yaml":      "keda: {enabled: true, maxReplicaCount: 10}\nprometheus: {enabled: true}\n",
	"my-values.yaml":   "serverLoadThreshold: 100\nkeda: {enabled: true}\nprometheus: {enabled: true}\n",
	"my-scenario.yaml": "about: A few clients.\nduration: 2m\nmodels: [{name: m, service: 50ms}]\nclients: [{count: 4}]\n",
}

// installed holds what readers of a page have in their cluster.
var installed = map[string]string{
	"docs/migrating.md": "helm install sonic of031 -n cms --set keda.enabled=true --set prometheus.enabled=true",
	"docs/operating.md": "helm install sonic ./chart -n inference",
}

func newShell(t *testing.T, page string) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir()}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(s.dir, "bin")
	links := map[string]string{"supersonic": self, "bin/supersonic": self, "bin/helm": tools.Path(t, "helm")}
	for _, name := range []string{"chart", "values", "docs", "golden"} {
		links[name] = filepath.Join(top, name)
	}
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	links["of031"] = filepath.Join(top, "scripts", "lab", "e2e", "testdata", "chart-0.3.1")
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range had {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	s.env = []string{
		"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home, "KUBECONFIG=" + apiserver.Start(t).Kubeconfig,
		"SUPERSONIC_TOOLS=" + os.Getenv("SUPERSONIC_TOOLS"),
	}
	s.run(installed[page])
	return s
}

// run runs each line of a block.
func (s *shell) run(text string) {
	s.t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cmd := exec.Command("/bin/bash", "-o", "pipefail", "-c", line)
		cmd.Dir, cmd.Env = s.dir, s.env
		if said, err := cmd.CombinedOutput(); err != nil {
			s.t.Errorf("%s: %v\n%.3000s", line, err, said)
		}
	}
}
