package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fastmachinelearning/supersonic/internal/input"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/promql"
)

type lintFlags struct {
	inputs  render.Inputs
	options render.Options
	chart   string
	output  string
}

func newLintCmd() *cobra.Command {
	var flags lintFlags
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check values files: errors and warnings",
		Long: `Checks each values file on its own, merged with the chart's defaults. Errors are
unknown keys, wrong types, contradictory values and metrics that do not parse;
warnings are values that work but are probably not what you meant. All findings of
all files are printed at once.

Each FILE is merged over the files of -f, and --set values override both. Without a
FILE, these are checked alone. Checks that depend on the release name or the
namespace need --release or --namespace.

The exit code is 1 if a file has an error; warnings alone give 0.`,
		Example: `  supersonic lint values.yaml
  supersonic lint values/*.yaml -o json
  supersonic lint -f values.yaml -f site.yaml --set keda.maxReplicaCount=20
  supersonic lint --release sonic-server -n cms values.yaml
  helm get values sonic -n cms | supersonic lint -`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := flags.validate(files, cmd.Flags()); err != nil {
				return err
			}
			return flags.run(files, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	addInputs(f, &flags.inputs)
	f.StringVar(&flags.options.Release, "release", "", "name of the release")
	addNamespace(f, &flags.options.Namespace, "")
	addChart(f, &flags.chart)
	f.StringVar(&flags.options.KubeVersion, "kube-version", render.DefaultKubeVersion, "Kubernetes `VERSION` to check for")
	f.StringVarP(&flags.output, "output", "o", "text", "`FORMAT`: text or json")
	complete(cmd, "output", "text", "json")
	return cmd
}

func (l *lintFlags) validate(files []string, set *pflag.FlagSet) error {
	if len(files) == 0 && !given(l.inputs) {
		return usagef("name at least one values file")
	}
	var errs promql.FieldErrors
	for _, name := range []string{"release", "namespace"} {
		if f := set.Lookup(name); f.Changed {
			errs.Add("--"+name, notEmpty(f.Value.String()))
		}
	}
	if len(errs) > 0 {
		return usage(errs)
	}
	return oneOf("output", l.output, "text", "json")
}

func (l *lintFlags) run(files []string, stdin io.Reader, out io.Writer) error {
	c, err := loadFor(l.chart, l.names()[0])
	if err != nil {
		return err
	}
	l.inputs.Unique = true
	var piped []byte
	if slices.Contains(slices.Concat(files, l.inputs.Files), "-") {
		if piped, err = input.All(stdin); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
	}
	if len(files) == 0 {
		files = []string{""}
	}
	var all reports
	for _, file := range files {
		in := l.inputs
		in.Stdin = bytes.NewReader(piped)
		if file != "" {
			in.Files = append(slices.Clone(in.Files), file)
		}
		if err := l.check(c, in, file, &all); err != nil {
			return err
		}
	}
	if err := all.print(l.output, out); err != nil {
		return err
	}
	if n := all.invalid(); n > 0 {
		return fmt.Errorf("%d of %d files are invalid", n, len(all))
	}
	return nil
}

// check adds the errors and warnings of one file, merged over its layers.
func (l *lintFlags) check(c *render.Loaded, in render.Inputs, file string, all *reports) error {
	for _, name := range in.Files {
		all.of(name)
	}
	user, err := in.Merge()
	var unread promql.FieldErrors
	if errors.As(err, &unread) {
		for _, e := range unread {
			all.of(e.Field).errors.Add("", e.Err)
		}
		return nil
	}
	errs, warnings, err := l.findings(c, user)
	if err != nil {
		return err
	}
	from := func(e *promql.FieldError) *report {
		if origin := user.Origin(e.Field); origin != "" {
			return all.of(origin)
		}
		return all.of(file)
	}
	for _, e := range errs {
		r := from(e)
		r.errors = with(r.errors, e)
	}
	for _, a := range warnings {
		r := from(a)
		r.warnings = with(r.warnings, a)
	}
	return nil
}

// names returns the options to check with. If the command line gives no release or
// namespace, they are two sets with made-up names: only findings of both are
// independent of the name.
func (l *lintFlags) names() []render.Options {
	one, other := l.options, l.options
	if l.options.Release == "" {
		one.Release, other.Release = "supersonic", "another-release"
	}
	if l.options.Namespace == "" {
		one.Namespace, other.Namespace = defaultNamespace, "another-namespace"
	}
	if l.options.Release != "" && l.options.Namespace != "" {
		return []render.Options{one}
	}
	return []render.Options{one, other}
}

func (l *lintFlags) findings(c *render.Loaded, user render.User) (errs, warnings promql.FieldErrors, err error) {
	for i, o := range l.names() {
		_, invalid := readScaling(c, user, o, render.Check(c, user.Values, o))
		var found promql.FieldErrors
		if invalid != nil && !errors.As(invalid, &found) {
			return nil, nil, invalid
		}
		said, err := render.Warnings(c, user.Values, o)
		if err != nil {
			return nil, nil, err
		}
		said = slices.DeleteFunc(said, func(a *promql.FieldError) bool { return found.Has(a.Field) })
		if i == 0 {
			errs, warnings = found, said
			continue
		}
		errs, warnings = common(errs, found), common(warnings, said)
	}
	if len(errs) > 0 {
		return errs, warnings, nil
	}
	_, err = render.Documents(c, user.Values, l.names()[0])
	var named promql.FieldErrors
	if err != nil && !errors.As(err, &named) {
		errs.Add("", err)
	}
	return errs, warnings, nil
}

// common returns the elements of a that are also in b.
func common(a, b promql.FieldErrors) promql.FieldErrors {
	var both promql.FieldErrors
	for _, e := range a {
		if contains(b, e) {
			both = append(both, e)
		}
	}
	return both
}

// with appends e to es, unless es has it.
func with(es promql.FieldErrors, e *promql.FieldError) promql.FieldErrors {
	if contains(es, e) {
		return es
	}
	return append(es, e)
}

func contains(es promql.FieldErrors, e *promql.FieldError) bool {
	return slices.ContainsFunc(es, func(other *promql.FieldError) bool { return other.Error() == e.Error() })
}
