package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/values"
	"github.com/fastmachinelearning/supersonic/promql"
)

type lintFlags struct {
	options render.Options
	chart   string
	output  string
}

func newLintCmd() *cobra.Command {
	var flags lintFlags
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check values files: errors and advice",
		Long: `Checks each values file on its own, over the chart's defaults: keys and types,
values that contradict each other, a metric that does not parse, and what would
work but is likely not meant. All findings of all files are printed.

The exit code is 1 if a file has an error; advice alone gives 0.`,
		Example: `  supersonic lint values.yaml
  supersonic lint values/*.yaml -o json
  supersonic lint --release sonic-server -n cms values.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("name at least one values file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			return flags.run(files, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.options.Release, "release", "supersonic", "name of the release")
	addNamespace(f, &flags.options.Namespace)
	addChart(f, &flags.chart)
	f.StringVar(&flags.options.KubeVersion, "kube-version", render.DefaultKubeVersion, "Kubernetes `VERSION` to check for")
	f.StringVarP(&flags.output, "output", "o", "text", "`FORMAT`: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

// findings are all that is to be said of one file.
type findings struct {
	file   string
	errors promql.FieldErrors
	advice promql.FieldErrors
}

func (l *lintFlags) run(files []string, stdin io.Reader, out io.Writer) error {
	if err := oneOf("output", l.output, "text", "json"); err != nil {
		return err
	}
	c, err := loadFor(l.chart, l.options)
	if err != nil {
		return err
	}
	var all []findings
	invalid := 0
	for _, file := range files {
		found, err := l.check(c, file, stdin)
		if err != nil {
			return err
		}
		if len(found.errors) > 0 {
			invalid++
		}
		all = append(all, found)
	}
	if err := l.print(all, out); err != nil {
		return err
	}
	if invalid > 0 {
		return fmt.Errorf("%d of %d files are invalid", invalid, len(files))
	}
	return nil
}

// check gives all that is to be said of one file.
func (l *lintFlags) check(c *render.Loaded, file string, stdin io.Reader) (findings, error) {
	found := findings{file: file}
	in := render.Inputs{Files: []string{file}, Stdin: stdin, Unique: true}
	user, err := in.Merge()
	var unread promql.FieldErrors
	if errors.As(err, &unread) {
		found.errors.Add("", unread[0].Err) // without the file, which all that is found has
		return found, nil
	}
	err = l.invalid(c, user)
	if !errors.As(err, &found.errors) {
		found.errors.Add("", err)
	}
	if len(found.errors) > 0 {
		return found, nil
	}
	found.advice, err = render.Advice(c, user.Values, l.options)
	return found, err
}

// invalid gives what the schema refuses, or else what the chart and the queries
// refuse together, or else what keeps the chart from rendering.
func (l *lintFlags) invalid(c *render.Loaded, user render.User) error {
	var errs promql.FieldErrors
	if err := render.Check(c, user.Values, l.options); err != nil && !errors.As(err, &errs) {
		return err
	}
	all, err := render.Values(c, user.Values)
	if err != nil {
		return err
	}
	_, err = values.Read(all, l.options.Release, l.options.Namespace)
	errs.AddOthers(err, nil)
	if len(errs) > 0 {
		return errs
	}
	_, err = render.Documents(c, user.Values, l.options)
	return err
}

func (l *lintFlags) print(all []findings, out io.Writer) error {
	if l.output == "json" {
		return printJSON(all, out)
	}
	var b strings.Builder
	for _, found := range all {
		for _, f := range found.errors {
			fmt.Fprintf(&b, "%s: %s\n", found.file, f)
		}
		for _, a := range found.advice {
			fmt.Fprintf(&b, "%s: advice: %s\n", found.file, a)
		}
		if len(found.errors)+len(found.advice) == 0 {
			fmt.Fprintf(&b, "%s: ok\n", found.file)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// printJSON prints the names that programs read.
func printJSON(all []findings, out io.Writer) error {
	type finding struct {
		Key  string `json:"key,omitempty"`
		Text string `json:"text"`
	}
	type report struct {
		File   string    `json:"file"`
		Faults []finding `json:"faults"`
		Advice []finding `json:"advice"`
	}
	list := func(es promql.FieldErrors) []finding {
		found := []finding{}
		for _, e := range es {
			found = append(found, finding{e.Field, e.Err.Error()})
		}
		return found
	}
	var reports []report
	for _, f := range all {
		reports = append(reports, report{f.file, list(f.errors), list(f.advice)})
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(reports)
}
