package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/promql"
)

// defaultNamespace is Helm's default.
const defaultNamespace = "default"

// addInputs adds Helm's flags for values.
func addInputs(f *pflag.FlagSet, in *render.Inputs) {
	f.StringArrayVarP(&in.Files, "values", "f", nil, "values `FILE`, - for standard input; a later one wins (repeatable)")
	f.StringArrayVar(&in.Set, "set", nil, "`KEY=VALUE`, overrides the files (repeatable)")
	f.StringArrayVar(&in.SetString, "set-string", nil, "`KEY=STRING`, never read as a number or boolean (repeatable)")
	f.StringArrayVar(&in.SetFile, "set-file", nil, "`KEY=FILE`, the value is the content of the file (repeatable)")
	f.StringArrayVar(&in.SetJSON, "set-json", nil, "`KEY=JSON` (repeatable)")
	f.StringArrayVar(&in.SetLiteral, "set-literal", nil, "`KEY=STRING`, taken literally (repeatable)")
}

// given reports whether a user gave any values.
func given(in render.Inputs) bool {
	return len(in.Files)+len(in.Set)+len(in.SetString)+len(in.SetFile)+len(in.SetJSON)+len(in.SetLiteral) > 0
}

func addChart(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "chart", "", "`FOLDER` of a chart to use instead of the embedded one")
}

// addNamespace adds --namespace. Its default applies outside the Helm plugin.
func addNamespace(f *pflag.FlagSet, namespace *string, otherwise string) {
	f.StringVarP(namespace, "namespace", "n", cmp.Or(helmNamespace(), otherwise), "namespace of the release")
}

// helmNamespace is the namespace that Helm sets for its plugins, since it consumes -n itself. It is set even if the user
// gave none.
func helmNamespace() string {
	namespace := os.Getenv("HELM_NAMESPACE")
	if os.Getenv("HELM_PLUGIN_NAME") == "" || namespace == defaultNamespace {
		return ""
	}
	return namespace
}

// loadChart loads the chart in a folder, or the one that the command carries.
func loadChart(dir string) (*render.Loaded, error) {
	if dir == "" {
		return render.Load(chart.FS())
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%s: no such folder", dir)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s: is not a folder: unpack a packaged chart first", dir)
	}
	c, err := render.Load(chart.Dir(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// loadFor loads a chart. Options that it can't be rendered with are wrong usage.
func loadFor(dir string, o render.Options) (*render.Loaded, error) {
	c, err := loadChart(dir)
	if err != nil {
		return nil, err
	}
	return c, usage(o.Validate(c))
}

// located adds the file or flag that each invalid value comes from.
func located(u render.User, err error) error {
	var invalid promql.FieldErrors
	if !errors.As(err, &invalid) {
		return err
	}
	errs := make([]error, len(invalid))
	for i, e := range invalid {
		errs[i] = at(u, e)
	}
	return errors.Join(errs...)
}

func at(u render.User, e *promql.FieldError) error {
	from := u.Origin(e.Field)
	switch {
	case from == "":
		return e
	case from == "--set" && quotedFraction.MatchString(e.Error()):
		return fmt.Errorf("%s: %w: --set reads a fraction as a string, --set-json as a number", from, e)
	}
	return fmt.Errorf("%s: %w", from, e)
}

var quotedFraction = regexp.MustCompile(`must be a number.*, got "[0-9]*\.[0-9]+"$`)

// oneOf checks that a flag has one of the allowed values.
func oneOf(flag, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return usagef("--%s: must be %s, got %q", flag, either(allowed), value)
}

func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// complete makes shells complete a flag with its allowed values.
func complete(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not defined
	}
}
