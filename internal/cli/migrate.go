package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fastmachinelearning/supersonic/internal/input"
	"github.com/fastmachinelearning/supersonic/internal/migrate"
	"github.com/fastmachinelearning/supersonic/internal/oldkeys"
	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/promql"
)

type migrateFlags struct {
	options migrate.Options
	write   bool
}

func newMigrateCmd() *cobra.Command {
	var flags migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate FILE...",
		Short: "Convert values for SuperSONIC 0.1 to 0.3.1 into values for this chart",
		Long: `Converts a values file for SuperSONIC 0.1 to 0.3.1 and prints the result. Comments,
order and style are kept, and so is every line that does not need to change. Each
change and its reason is printed on standard error, and so is what has to be done
by hand. The output of "helm get values" is accepted too.

Several files are treated as layers of one release, in which later files override
earlier ones. They are migrated together and in place, which requires -w.

Exit code 1 means that something has to be done by hand.`,
		Example: `  supersonic migrate values.yaml > new-values.yaml
  supersonic migrate -w base.yaml site.yaml
  helm get values sonic -n cms | supersonic migrate --release sonic - > new-values.yaml
  supersonic migrate --keep-scaling --release sonic values.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("name a values file")
			}
			if len(args) > 1 && !flags.write {
				return usagef("takes one file, got %d; with -w it changes several in place", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			return flags.run(cmd, files)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.write, "write", "w", false, "write the result into the file, instead of standard output")
	f.StringVar(&flags.options.Release, "release", "", "name of the release; empty means the one that the values name")
	f.BoolVar(&flags.options.KeepScaling, "keep-scaling", false, "keep the metric, the threshold and the scaling pace of 0.3.1")
	f.BoolVar(&flags.options.DropDefaults, "drop-defaults", false, "remove keys that repeat a default of 0.3.1")
	return cmd
}

func (m *migrateFlags) run(cmd *cobra.Command, files []string) error {
	var layers []migrate.Layer
	for _, name := range files {
		text, err := m.read(name, cmd.InOrStdin())
		if err != nil {
			return err
		}
		layers = append(layers, migrate.Layer{Name: name, Text: text})
	}
	results, err := migrate.Files(layers, m.options)
	if errors.Is(err, migrate.ErrNoRelease) {
		return usagef("--keep-scaling needs --release: %w", err)
	}
	if err != nil {
		return err
	}
	invalid, err := m.check(results)
	if err != nil {
		return err
	}
	for i, result := range results {
		if err := m.put(cmd.OutOrStdout(), layers[i], result); err != nil {
			return err
		}
	}
	if left := tell(cmd.ErrOrStderr(), results, invalid); left > 0 {
		return fmt.Errorf("%d left to do", left)
	}
	return nil
}

func (m *migrateFlags) read(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" && m.write {
		return nil, usagef("-w can't write standard input")
	}
	text, err := input.Read(name, stdin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// check returns the errors of the migrated values.
func (m *migrateFlags) check(results []migrate.Result) (promql.FieldErrors, error) {
	l := lintFlags{options: render.Options{Release: m.options.Release}}
	c, err := loadFor("", l.names()[0])
	if err != nil {
		return nil, err
	}
	vals := migrate.Merged(results)
	invalid, _, err := l.findings(c, render.User{Values: vals})
	var left promql.FieldErrors
	for _, e := range invalid {
		told := slices.ContainsFunc(results, func(r migrate.Result) bool {
			return slices.ContainsFunc(r.Left, func(n migrate.Note) bool { return n.Key == e.Field })
		})
		if told {
			continue
		}
		if variable := variableAt(vals, oldkeys.Split(e.Field)); variable != "" {
			later := fmt.Errorf("is filled in later (%s): check the file that Helm gets with supersonic lint", variable)
			e = &promql.FieldError{Field: e.Field, Err: later}
		}
		left = append(left, e)
	}
	return left, err
}

// variable is what Flux and envsubst fill in before Helm reads the file.
var variable = regexp.MustCompile(`\$\{\w+[^}]*\}`)

// variableAt is the variable in a string at a path, empty if there is none.
func variableAt(vals map[string]any, path []string) string {
	var at any = vals
	for _, word := range path {
		section, _ := at.(map[string]any)
		at = section[word]
	}
	text, _ := at.(string)
	return variable.FindString(text)
}

// put writes a result to its file or to out.
func (m *migrateFlags) put(out io.Writer, l migrate.Layer, r migrate.Result) error {
	if !m.write {
		_, err := out.Write(r.Text)
		return err
	}
	if bytes.Equal(l.Text, r.Text) {
		return nil
	}
	return replaceFile(r.Name, r.Text)
}

// replaceFile replaces a file atomically. A symbolic link is kept.
func replaceFile(name string, text []byte) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// tell prints the changes and what is left to do, and returns the number of the latter.
func tell(out io.Writer, results []migrate.Result, invalid promql.FieldErrors) int {
	left := 0
	for _, r := range results {
		if len(r.Changes)+len(r.Left) == 0 {
			fmt.Fprintf(out, "%s: nothing to change\n", r.Name)
		}
		for _, n := range r.Changes {
			fmt.Fprintf(out, "%s: %s\n", r.Name, n)
		}
		for _, n := range r.Left {
			left++
			fmt.Fprintf(out, "%s: left to do: %s\n", r.Name, n)
		}
	}
	for _, f := range invalid {
		left++
		fmt.Fprintf(out, "left to do: %s\n", f)
	}
	return left
}
