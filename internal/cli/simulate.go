package cli

import (
	"bytes"
	"context"
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
	p90    time.Duration

	policies  []string
	recommend bool
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
  supersonic simulate my-scenario.yaml -o json
  supersonic simulate my-scenario.yaml --recommend --p90 300ms
  supersonic simulate my-scenario.yaml --recommend -o yaml > recommended.yaml`,
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
With --recommend it searches for the cheapest values that keep the scenario's goal,
or --p90, with every seed: threshold, think time, window, bounds and scale-down. They
suit the load of the scenario, so give it the load that you expect.

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
	f.BoolVar(&flags.recommend, "recommend", false, "search for the cheapest values that keep the goal, instead of comparing policies")
	f.DurationVar(&flags.p90, "p90", 0, "`TIME` within which 90 % of the answers are wanted, instead of the scenario's goal")
	f.StringVarP(&flags.output, "output", "o", "text", "`FORMAT`: text or json; with --recommend also yaml, the values alone")
	f.StringVar(&flags.html, "html", "", "also write a page with plots to `FILE`")
	complete(cmd, "output", "text", "json", "yaml")
	var names []string
	for _, p := range sim.KnownPolicies() {
		names = append(names, p[0])
	}
	complete(cmd, "policy", names...)
}

// knownPolicies lists the built-in policies, one a line.
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

func (f *simulateFlags) check(cmd *cobra.Command) error {
	formats := []string{"text", "json"}
	if f.recommend {
		formats = append(formats, "yaml")
	}
	switch {
	case f.seeds < 0:
		return usagef("--seeds: must be at least 1, got %d", f.seeds)
	case cmd.Flags().Changed("p90") && f.p90 <= 0:
		return usagef("--p90: must be above 0, got %s", f.p90)
	case f.recommend && len(f.policies) > 0:
		return usagef("--policy: must not be set with --recommend, which tries policies of its own")
	}
	return oneOf("output", f.output, formats...)
}

func (f *simulateFlags) run(cmd *cobra.Command, name string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	s, err := sim.Load(name)
	if err != nil {
		return err
	}
	if f.seeds > 0 {
		s.Seeds = f.seeds
	}
	if f.p90 > 0 {
		s.Wanted = sim.Goal{P90: f.p90}
	}
	c, err := loadChart(f.chart)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	tell := func(string, int, int, float64) {}
	if !f.quiet {
		tell = progress(cmd.ErrOrStderr())
	}
	if f.recommend {
		return f.advise(ctx, cmd.OutOrStdout(), s, sim.Search{Chart: simulated(name, c), Defaults: c.Values, Progress: tell})
	}
	return f.compare(ctx, cmd.OutOrStdout(), s, sim.Options{
		Chart: simulated(name, c), Policies: f.policies,
		Progress: func(done, of int, share float64) { tell("", done, of, share) },
	})
}

func (f *simulateFlags) compare(ctx context.Context, out io.Writer, s *sim.Scenario, o sim.Options) error {
	report, err := sim.Compare(ctx, s, o)
	if err != nil {
		return err
	}
	if err := f.writePage(report.Page); err != nil {
		return err
	}
	if f.output == "json" {
		return asJSON(out, report)
	}
	return report.Table(out)
}

func (f *simulateFlags) advise(ctx context.Context, out io.Writer, s *sim.Scenario, o sim.Search) error {
	advice, err := sim.Recommend(ctx, s, o)
	if err != nil {
		return err
	}
	if err := f.writePage(advice.Page); err != nil {
		return err
	}
	switch f.output {
	case "json":
		return asJSON(out, advice)
	case "yaml":
		return advice.YAML(out)
	}
	return advice.Text(out)
}

func asJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writePage writes the page that --html asks for.
func (f *simulateFlags) writePage(write func(io.Writer) error) error {
	if f.html == "" {
		return nil
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return os.WriteFile(f.html, page.Bytes(), 0o644)
}

// simulated renders a chart for a policy's values.
func simulated(scenario string, c *render.Loaded) sim.Chart {
	return func(values map[string]any) (sim.Settings, error) {
		manifests, err := render.Chart(c, values, render.Options{Release: sim.Release, Namespace: sim.Namespace})
		if err != nil {
			return sim.Settings{}, fmt.Errorf("%s: values: %w", scenario, err)
		}
		return sim.ReadSettings(manifests)
	}
}

// progress writes how far a long comparison, or a stage of a search, is.
func progress(out io.Writer) func(stage string, done, of int, share float64) {
	const every = 5 * time.Second
	next := time.Now().Add(every)
	return func(stage string, done, of int, share float64) {
		now := time.Now()
		if now.Before(next) {
			return
		}
		next = now.Add(every)
		if stage != "" {
			stage += ": "
		}
		fmt.Fprintf(out, "supersonic: %s%.0f %%, %d of %d runs\n", stage, 100*share, done, of)
	}
}
