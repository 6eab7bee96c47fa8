// Package cli is the command supersonic, with a constructor for each subcommand.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of the command.
const (
	exitOK    = 0
	exitError = 1 // the command failed, or what it checked is invalid
	exitUsage = 2 // wrong usage of the command line
)

// Run runs the command with the arguments after its name, and returns its exit
// code. Results go to stdout, errors to stderr.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Helm's packages log values that they tolerate. The schema rejects those that matter, with a better message.
	log.SetOutput(io.Discard)
	root := newRootCmd()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "supersonic: %s\n", strings.TrimRight(line, "\n"))
	}
	var usage usageError
	if !errors.As(err, &usage) {
		return exitError
	}
	fmt.Fprintf(stderr, "supersonic: see %s --help\n", cmd.CommandPath())
	return exitUsage
}

// A usageError says that the command line is wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage turns err, unless it is nil, into a usageError.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func newRootCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "supersonic",
		Short: "Scales and protects NVIDIA Triton behind Envoy by the requests in flight",
		Long: `supersonic prints the queries that scale and protect a fleet of NVIDIA Triton
replicas behind Envoy, renders the chart that runs it, without Helm and without
a cluster, and checks values files.`,
		Example: `  supersonic query needed-replicas --release sonic --namespace cms --pretty
  supersonic template sonic -n cms -f values.yaml | kubectl apply -n cms -f -
  supersonic lint values.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown("command", args[0], cmd)
			}
			return nil
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(newQueryCmd(), newTemplateCmd(), newImagesCmd(), newLintCmd(), newMigrateCmd(), newSimulateCmd(), newVersionCmd())
	return cmd
}

// unknown is the error for an unknown subcommand, with the most similar known one.
func unknown(what, word string, parent *cobra.Command) error {
	parent.SuggestionsMinimumDistance = 3
	if near := parent.SuggestionsFor(word); len(near) > 0 {
		return usagef("unknown %s %q, did you mean %s?", what, word, strings.Join(near, " or "))
	}
	return usagef("unknown %s %q", what, word)
}

// noArgs is cobra.NoArgs with the exit code of wrong usage.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("takes no argument, got %q", args[0])
	}
	return nil
}

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the command and of the chart in it",
		Example: "  supersonic version",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadChart("")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "supersonic", c.Metadata.Version)
			return err
		},
	}
}
