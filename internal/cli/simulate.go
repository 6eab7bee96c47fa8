package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/sim"
)

type simulateFlags struct {
	chart  string
	output string
	html   string
	list   bool
	quiet  bool
	seeds  int

	policies []string
}

func newSimulateCmd() *cobra.Command {
	var flags simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate NAME|FILE",
		Short: "Compare scaling policies in a simulation",
		Long:  simulateHelp(),
		Example: `  supersonic simulate --list
  supersonic simulate waiting-40
  supersonic simulate thinking-400 --html report.html
  supersonic simulate my-scenario.yaml -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if n := len(args); !flags.list && n != 1 || flags.list && n > 0 {
				return usagef("name one scenario, or --list alone")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return sim.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.list {
				return listScenarios(cmd.OutOrStdout())
			}
			return flags.run(cmd, args[0])
		},
	}
	flags.add(cmd)
	return cmd
}

func simulateHelp() string {
	return `Simulates clients, Envoy and Triton replicas request by request, evaluates the
chart's query with the Prometheus engine on the simulated scrapes, and scales the
fleet as KEDA and the HPA would. A scenario describes the load and the policies to
compare; several are included. These policies can be used by name, and are compared
if a scenario lists none:

` + knownPolicies() + `
Progress is printed on stderr. Ctrl-C stops early and prints the results so far.`
}

func (flags *simulateFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	addChart(f, &flags.chart)
	f.BoolVar(&flags.list, "list", false, "list the shipped scenarios")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "no progress on stderr")
	f.IntVar(&flags.seeds, "seeds", 0, "`NUMBER` of runs of each policy, instead of the scenario's")
	f.StringArrayVar(&flags.policies, "policy", nil,
		"`NAME` of a policy to run, instead of all policies and the least fixed fleet (repeatable)")
	f.StringVarP(&flags.output, "output", "o", "text", "`FORMAT`: text or json")
	f.StringVar(&flags.html, "html", "", "also write a page with plots to `FILE`")
	complete(cmd, "output", "text", "json")
	var names []string
	for _, p := range sim.KnownPolicies() {
		names = append(names, p[0])
	}
	complete(cmd, "policy", names...)
}

// knownPolicies is a line for each policy that has a name of its own.
func knownPolicies() string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, p := range sim.KnownPolicies() {
		fmt.Fprintf(t, "  %s\t%s\n", p[0], p[1])
	}
	t.Flush()
	return text.String()
}

func listScenarios(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, name := range sim.Names() {
		s, err := sim.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s\n", name, s.About)
	}
	return t.Flush()
}

func (f *simulateFlags) run(cmd *cobra.Command, name string) error {
	if err := oneOf("output", f.output, "text", "json"); err != nil {
		return err
	}
	if f.seeds < 0 {
		return usagef("--seeds: must be at least 1, got %d", f.seeds)
	}
	s, err := sim.Load(name)
	if err != nil {
		return err
	}
	if f.seeds > 0 {
		s.Seeds = f.seeds
	}
	chart, err := f.simulated(name)
	if err != nil {
		return err
	}
	o := sim.Options{Chart: chart, Policies: f.policies}
	if !f.quiet {
		o.Progress = progress(cmd.ErrOrStderr())
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	report, err := sim.Compare(ctx, s, o)
	if err != nil {
		return err
	}
	if f.html != "" {
		if err := writePage(f.html, report); err != nil {
			return err
		}
	}
	if f.output == "json" {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	return report.Table(cmd.OutOrStdout())
}

func writePage(file string, report *sim.Report) error {
	var page bytes.Buffer
	if err := report.Page(&page); err != nil {
		return err
	}
	return os.WriteFile(file, page.Bytes(), 0o644)
}

// simulated renders the chart for a policy's values.
func (f *simulateFlags) simulated(scenario string) (sim.Chart, error) {
	c, err := loadChart(f.chart)
	if err != nil {
		return nil, err
	}
	return func(values map[string]any) (sim.Settings, error) {
		manifests, err := render.Chart(c, values, render.Options{Release: sim.Release, Namespace: sim.Namespace})
		if err != nil {
			return sim.Settings{}, fmt.Errorf("%s: values: %w", scenario, err)
		}
		return sim.ReadSettings(manifests)
	}, nil
}

// progress writes how far a long comparison is.
func progress(out io.Writer) func(done, of int, share float64) {
	const every = 5 * time.Second
	next := time.Now().Add(every)
	return func(done, of int, share float64) {
		if now := time.Now(); now.After(next) {
			next = now.Add(every)
			text := fmt.Sprintf("supersonic: %.0f %%, %d of %d runs", 100*share, done, of)
			fmt.Fprintln(out, strings.TrimSpace(text))
		}
	}
}
