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
		Short: "Check values files: faults and advice",
		Long: `Checks each values file on its own, over the chart's defaults: keys and types,
values that contradict each other, a metric that does not parse, and what would
work but is likely not meant. All findings of all files are printed.

Exit code 1 says that a file has a fault; advice alone gives 0.`,
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

// A finding is one fault or one piece of advice.
type finding struct {
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`
}

func (f finding) String() string { return render.Fault{Key: f.Key, Text: f.Text}.Error() }

type findings struct {
	File   string    `json:"file"`
	Faults []finding `json:"faults"`
	Advice []finding `json:"advice"`
}

func (l *lintFlags) run(files []string, stdin io.Reader, out io.Writer) error {
	if err := oneOf("output", l.output, "text", "json"); err != nil {
		return err
	}
	c, err := loadChart(l.chart)
	if err != nil {
		return err
	}
	var all []findings
	atFault := 0
	for _, file := range files {
		found, err := l.check(c, file, stdin)
		if err != nil {
			return err
		}
		if len(found.Faults) > 0 {
			atFault++
		}
		all = append(all, found)
	}
	if err := l.print(all, out); err != nil {
		return err
	}
	if atFault > 0 {
		return fmt.Errorf("%d of %d files at fault", atFault, len(files))
	}
	return nil
}

// check gives all that is to be said of one file. Its error is one of the
// command line.
func (l *lintFlags) check(c *render.Loaded, file string, stdin io.Reader) (findings, error) {
	found := findings{File: file, Faults: []finding{}, Advice: []finding{}}
	in := render.Inputs{Files: []string{file}, Stdin: stdin, Unique: true}
	user, err := in.Merge()
	if err != nil {
		found.Faults = []finding{{Text: strings.TrimPrefix(err.Error(), file+": ")}}
		return found, nil
	}
	faults, err := l.faults(c, user)
	var option *render.OptionError
	if errors.As(err, &option) {
		return found, usageError{err}
	}
	for _, f := range faults {
		found.Faults = append(found.Faults, finding(f))
	}
	if err != nil {
		found.Faults = append(found.Faults, finding{Text: err.Error()})
	}
	if len(found.Faults) > 0 {
		return found, nil
	}
	advice, err := render.Advice(c, user.Values, l.options)
	for _, a := range advice {
		found.Advice = append(found.Advice, finding(a))
	}
	return found, err
}

// faults are those of the schema, or else those of the chart and of the queries
// together. Its error is what else keeps the chart from rendering.
func (l *lintFlags) faults(c *render.Loaded, user render.User) (render.Faults, error) {
	found, err := render.Check(c, user.Values, l.options)
	var invalid render.Faults
	if errors.As(err, &invalid) {
		return invalid, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := render.Values(c, user.Values)
	if err != nil {
		return nil, err
	}
	_, err = values.Read(all, l.options.Release, l.options.Namespace)
	known := map[string]bool{}
	for _, f := range found {
		known[f.Key] = true
	}
	for _, f := range keyFaults(err) {
		if !known[f.Key] {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	_, err = render.Documents(c, user.Values, l.options)
	return nil, err
}

func (l *lintFlags) print(all []findings, out io.Writer) error {
	if l.output == "json" {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	var b strings.Builder
	for _, found := range all {
		for _, f := range found.Faults {
			fmt.Fprintf(&b, "%s: %s\n", found.File, f)
		}
		for _, a := range found.Advice {
			fmt.Fprintf(&b, "%s: advice: %s\n", found.File, a)
		}
		if len(found.Faults)+len(found.Advice) == 0 {
			fmt.Fprintf(&b, "%s: ok\n", found.File)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
