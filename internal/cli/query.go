package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fastmachinelearning/supersonic/internal/render"
	"github.com/fastmachinelearning/supersonic/internal/values"
	"github.com/fastmachinelearning/supersonic/promql"
)

// queryFlags are shared by all queries.
type queryFlags struct {
	inputs    render.Inputs
	chart     string
	release   string
	namespace string
	replicas  string
	inFlight  string
	interval  string
	envoy     string
	triton    string
	exclude   []string
	thinkTime string
	room      float64
	threshold float64
	pretty    bool
	output    string
}

func newQueryCmd() *cobra.Command {
	var flags queryFlags
	cmd := &cobra.Command{
		Use:   "query NAME",
		Short: "Print a query in PromQL",
		Long: `Prints a query as PromQL, for one release, from flags or from values files. If the
values set serverLoadMetric, needed-replicas and occupancy-ratio print that metric,
because it is what KEDA and the gate use.`,
		Example: `  supersonic query needed-replicas --release sonic --namespace cms
  supersonic query occupancy-ratio -f values.yaml --pretty
  supersonic query in-flight --rate-interval 2m --envoy-selector 'job="envoy"'
  promtool query instant http://localhost:9090 "$(supersonic query needed-replicas)"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%w; there are %s", unknown("query", args[0], cmd), queryNames())
			}
			return usagef("name a query: %s", queryNames())
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	flags.add(cmd.PersistentFlags())
	complete(cmd, "replicas", string(promql.Windowed), string(promql.Instant))
	complete(cmd, "in-flight", string(promql.Completed), string(promql.Larger), string(promql.Active))
	complete(cmd, "output", "text", "json")
	for _, named := range promql.Queries() {
		cmd.AddCommand(newNamedQueryCmd(named, &flags))
	}
	return cmd
}

func queryNames() string {
	var words []string
	for _, q := range promql.Queries() {
		words = append(words, q.Name)
	}
	return either(words)
}

func newNamedQueryCmd(q promql.Named, flags *queryFlags) *cobra.Command {
	return &cobra.Command{
		Use:   q.Name,
		Short: q.Summary,
		Long:  q.Summary + ".\nUnit: " + q.Unit + ".",
		Example: fmt.Sprintf(`  supersonic query %[1]s --release sonic --namespace cms
  supersonic query %[1]s -f values.yaml --pretty`, q.Name),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.inputs.Stdin = cmd.InOrStdin()
			return flags.run(q, cmd.Flags(), cmd.OutOrStdout())
		},
	}
}

func (q *queryFlags) add(f *pflag.FlagSet) {
	addInputs(f, &q.inputs)
	addChart(f, &q.chart)
	addNamespace(f, &q.namespace, defaultNamespace)
	f.StringVar(&q.release, "release", "supersonic", "name of the release")
	f.StringVar(&q.interval, "rate-interval", "1m", "`WINDOW` of every rate and mean, at least 4 scrape intervals")
	f.StringVar(&q.replicas, "replicas", string(promql.Windowed), "how replicas are counted: windowed or instant")
	f.StringVar(&q.inFlight, "in-flight", string(promql.Completed), "how requests in flight are measured: completed, larger or active")
	f.StringVar(&q.thinkTime, "think-time", "0s", "`TIME` between a client's requests: 0s, such as 1s, or measured")
	f.Float64Var(&q.room, "utilization", promql.DefaultUtilization, "with a think time: utilization that replicas are planned for")
	f.Float64Var(&q.threshold, "threshold", promql.DefaultScaling, "scaling threshold, which a think time is weighed against")
	f.StringArrayVar(&q.exclude, "exclude-model", nil, "`MODEL` to leave out of serving: such as an ensemble (repeatable)")
	f.StringVar(&q.envoy, "envoy-selector", "", "label `MATCHERS` of Envoy's series, instead of release and namespace")
	f.StringVar(&q.triton, "triton-selector", "", "label `MATCHERS` of Triton's series, instead of release and namespace")
	f.BoolVar(&q.pretty, "pretty", false, "break the query into several lines")
	f.StringVarP(&q.output, "output", "o", "text", "`FORMAT`: text or json")
}

// flagKeys maps flags to the values that they stand for.
var flagKeys = [][2]string{
	{"rate-interval", "serverLoadRateInterval"},
	{"replicas", "serverLoadReplicas"},
	{"in-flight", "serverLoadInFlight"},
	{"exclude-model", "serverLoadExcludeModels"},
	{"think-time", "serverLoadThinkTime"},
	{"utilization", "serverLoadUtilization"},
	{"threshold", "serverLoadThreshold"},
	{"envoy-selector", "serverLoadSelector.envoy"},
	{"triton-selector", "serverLoadSelector.triton"},
}

func (q *queryFlags) run(named promql.Named, set *pflag.FlagSet, out io.Writer) error {
	if err := oneOf("output", q.output, "text", "json"); err != nil {
		return err
	}
	scaling, err := q.scaling(set)
	if err != nil {
		return err
	}
	query, err := scaling.Query(named)
	if err != nil {
		return err
	}
	return q.print(named, scaling, query, out)
}

func (q *queryFlags) scaling(set *pflag.FlagSet) (values.Scaling, error) {
	if !given(q.inputs) {
		return q.fromFlags()
	}
	var errs promql.FieldErrors
	for _, pair := range flagKeys {
		if set.Changed(pair[0]) {
			errs.Addf("--"+pair[0], "cannot be combined with values files; set %s in them", pair[1])
		}
	}
	if len(errs) > 0 {
		return values.Scaling{}, usage(errs)
	}
	return q.fromValues()
}

// fieldFlags maps fields of promql.Params to the flags that set them.
var fieldFlags = map[string]string{
	"rateInterval":  "--rate-interval",
	"replicas":      "--replicas",
	"inFlight":      "--in-flight",
	"excludeModels": "--exclude-model",
	"thinkTime":     "--think-time",
	"utilization":   "--utilization",
	"threshold":     "--threshold",
	"scaling":       "--threshold",
}

func (q *queryFlags) fromFlags() (values.Scaling, error) {
	var errs promql.FieldErrors
	errs.Add("--release", notEmpty(q.release))
	errs.Add("--namespace", notEmpty(q.namespace))
	p := promql.ForRelease(q.release, q.namespace)
	p.Replicas, p.InFlight, p.ExcludeModels = promql.Replicas(q.replicas), promql.InFlight(q.inFlight), q.exclude
	interval, err := promql.ParseDuration(q.interval)
	errs.Add("--rate-interval", err)
	envoy, err := promql.ParseSelector(q.envoy)
	errs.Add("--envoy-selector", err)
	triton, err := promql.ParseSelector(q.triton)
	errs.Add("--triton-selector", err)
	p.RateInterval, p.Envoy, p.Triton = interval, envoy.Or(p.Envoy), triton.Or(p.Triton)
	p.Utilization, p.Threshold = q.room, q.threshold
	if q.thinkTime == "measured" {
		p.ThinkTime, p.InFlight = promql.Measured, promql.Active
	} else {
		p.ThinkTime, err = promql.ParseDuration(q.thinkTime)
		errs.Add("--think-time", err)
	}
	errs.AddOthers(p.Validate(), fieldFlags)
	t := promql.Thresholds{Scaling: q.threshold, Admission: promql.AdmissionFor(q.threshold)}
	errs.AddOthers(t.Validate(), fieldFlags)
	return values.Scaling{Params: p, Thresholds: t}, usage(errs.Err())
}

func notEmpty(value string) error {
	if value == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func (q *queryFlags) fromValues() (values.Scaling, error) {
	user, err := q.inputs.Merge()
	if err != nil {
		return values.Scaling{}, err
	}
	o := render.Options{Release: q.release, Namespace: q.namespace}
	c, err := loadFor(q.chart, o)
	if err != nil {
		return values.Scaling{}, err
	}
	scaling, err := readScaling(c, user, o, render.Check(c, user.Values, o))
	return scaling, located(user, err)
}

// readScaling reads the queries' parameters from the values. If values are invalid,
// its error lists all of them.
func readScaling(c *render.Loaded, user render.User, o render.Options, checked error) (values.Scaling, error) {
	var errs promql.FieldErrors
	if checked != nil && !errors.As(checked, &errs) {
		return values.Scaling{}, checked
	}
	all, err := render.Values(c, user.Values)
	if err != nil {
		return values.Scaling{}, err
	}
	s, err := values.Read(all, o.Release, o.Namespace)
	errs.AddOthers(err, nil)
	return s, errs.Err()
}

func (q *queryFlags) print(named promql.Named, s values.Scaling, query promql.Query, out io.Writer) error {
	text := query.String()
	if q.pretty {
		text = query.Pretty()
	}
	text = strings.TrimSpace(text)
	if q.output == "text" {
		_, err := fmt.Fprintln(out, text)
		return err
	}
	answer := struct {
		Name      string  `json:"name"`
		Unit      string  `json:"unit"`
		Query     string  `json:"query"`
		Threshold float64 `json:"threshold,omitempty"`
	}{Name: named.Name, Unit: named.Unit, Query: text}
	if named.Threshold != nil {
		answer.Threshold = named.Threshold(s.Thresholds)
		if s.Custom() {
			answer.Unit = "that of serverLoadMetric"
		}
	}
	return printJSON(answer, out)
}
