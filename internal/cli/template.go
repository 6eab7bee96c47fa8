package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fastmachinelearning/supersonic/internal/render"
)

// gcPercent is GOGC while the chart renders.
const gcPercent = 800

type templateFlags struct {
	inputs    render.Inputs
	options   render.Options
	chart     string
	showOnly  []string
	outputDir string
	noHooks   bool
	skipTests bool
	notes     bool
}

func newTemplateCmd() *cobra.Command {
	var flags templateFlags
	cmd := &cobra.Command{
		Use:   "template [NAME]",
		Short: "Render the chart as `helm template` does",
		Long: `Renders the chart with Helm's own engine and prints what "helm template" prints
for the same chart, release and values. It needs neither Helm nor a cluster.

NAME is the release; without it, it is release-name, as with Helm.`,
		Example: `  supersonic template sonic -n cms -f values.yaml
  supersonic template sonic -f values.yaml --set keda.maxReplicaCount=20 -s templates/keda/scaledobject.yaml
  supersonic template sonic -f values.yaml --output-dir manifests`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("takes one release name, got %d; a chart's folder goes to --chart", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.options.Release = "release-name"
			if len(args) > 0 {
				flags.options.Release = args[0]
			}
			flags.inputs.Stdin = cmd.InOrStdin()
			// The process ends before a collection would pay off.
			debug.SetGCPercent(gcPercent)
			return flags.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.add(cmd.Flags())
	return cmd
}

func (f *templateFlags) add(set *pflag.FlagSet) {
	addInputs(set, &f.inputs)
	addNamespace(set, &f.options.Namespace, defaultNamespace)
	addChart(set, &f.chart)
	set.StringVar(&f.options.KubeVersion, "kube-version", render.DefaultKubeVersion, "Kubernetes `VERSION` to render for")
	set.StringSliceVarP(&f.options.APIVersions, "api-versions", "a", nil,
		"API `VERSION` of the cluster, in addition to Kubernetes' own (repeatable)")
	set.BoolVar(&f.options.IsUpgrade, "is-upgrade", false, "render an upgrade, not an installation")
	set.StringArrayVarP(&f.showOnly, "show-only", "s", nil, "print only the `TEMPLATE`, such as templates/keda/scaledobject.yaml (repeatable)")
	set.BoolVar(&f.notes, "notes", false, "print NOTES, which Helm shows after an installation, instead of the manifests")
	set.StringVar(&f.outputDir, "output-dir", "", "write a file for each template into `FOLDER`")
	set.BoolVar(&f.noHooks, "no-hooks", false, "leave out hooks")
	set.BoolVar(&f.skipTests, "skip-tests", false, "leave out what \"helm test\" runs")
}

func (f *templateFlags) run(out, errOut io.Writer) error {
	user, err := f.inputs.Merge()
	if err != nil {
		return err
	}
	c, err := loadFor(f.chart, f.options)
	if err != nil {
		return err
	}
	rendered, err := render.All(c, user.Values, f.options)
	if _, err := readScaling(c, user, f.options, err); err != nil {
		return located(user, err)
	}
	if f.notes {
		_, err := fmt.Fprintln(out, strings.TrimSpace(rendered.Notes)) // they have the warnings
		return err
	}
	for _, a := range rendered.Warnings {
		fmt.Fprintf(errOut, "supersonic: warning: %v\n", at(user, a))
	}
	return f.print(rendered.Documents, out)
}

func (f *templateFlags) print(docs []render.Document, out io.Writer) error {
	docs = slices.DeleteFunc(docs, func(d render.Document) bool {
		return d.Hook && f.noHooks || d.Test && f.skipTests
	})
	if len(f.showOnly) > 0 {
		var err error
		if docs, err = only(docs, f.showOnly); err != nil {
			return err
		}
	}
	if f.outputDir != "" {
		return writeFiles(f.outputDir, docs, out)
	}
	_, err := io.WriteString(out, stream(docs))
	return err
}

// stream returns the text of all documents, which ends as Helm's does.
func stream(docs []render.Document) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString(d.String())
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// only returns the documents of the given templates, in their order on the command line.
func only(docs []render.Document, patterns []string) ([]render.Document, error) {
	var kept []render.Document
	for _, pattern := range patterns {
		before := len(kept)
		for _, d := range docs {
			_, source, _ := strings.Cut(d.Source, "/") // without the chart's name
			if ok, _ := filepath.Match(filepath.ToSlash(pattern), source); ok {
				kept = append(kept, d)
			}
		}
		if len(kept) == before {
			return nil, fmt.Errorf("--show-only: no template %s renders anything with these values", pattern)
		}
	}
	return kept, nil
}

// writeFiles writes the documents of each template to a file with the template's path.
func writeFiles(dir string, docs []render.Document, out io.Writer) error {
	texts := map[string]string{}
	var order []string
	for _, d := range docs {
		if _, ok := texts[d.Source]; !ok {
			order = append(order, d.Source)
		}
		texts[d.Source] += d.String()
	}
	for _, source := range order {
		path := filepath.Join(dir, filepath.FromSlash(source))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(texts[source]), 0o644); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "wrote", path); err != nil {
			return err
		}
	}
	return nil
}
