package sim

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// Advice is the result of a search for the cheapest values.
type Advice struct {
	Scenario    string  `json:"scenario"`
	About       string  `json:"about"`
	Wanted      string  `json:"wanted"`
	Measure     string  `json:"measure"` // what the goal limits
	Limit       float64 `json:"limit"`
	Seeds       int     `json:"seeds"`
	Interrupted bool    `json:"interrupted,omitempty"`
	// Kept is whether Chosen keeps the goal. Without any that does, Chosen comes closest.
	Kept   bool           `json:"kept"`
	Chosen *Try           `json:"recommended"`
	Values map[string]any `json:"values"` // of Chosen and of the scenario, where they differ from the chart's
	Today  *Try           `json:"today"`
	Fixed  *Try           `json:"leastFixedFleet,omitempty"`
	Tried  []*Try         `json:"tried"` // every candidate, the cheapest first

	unit func(float64) string
}

// A Try is what a candidate came to: means over its runs, and the most that the goal's
// number came to in any of them.
type Try struct {
	Set            map[string]any `json:"set,omitempty"` // values over the scenario's, by key
	Replicas       int            `json:"replicas,omitempty"`
	Seeds          int            `json:"seeds"` // it ran with
	Kept           bool           `json:"kept"`  // the goal, with each of them
	Front          bool           `json:"front"` // none that is as cheap is faster
	ReplicaMinutes float64        `json:"replicaMinutes"`
	Reached        float64        `json:"reached"`
	Changes        float64        `json:"changesPerHour"` // once settled
	Lost           float64        `json:"lost"`           // requests refused or failed

	name string
}

func (f *searching) try(c *candidate) *Try {
	runs := Result{Runs: f.runs(c)}
	if len(runs.Runs) == 0 {
		return nil
	}
	return &Try{
		Set: c.knobs, Replicas: c.fixed, Seeds: len(runs.Runs), Kept: f.keeps(c), ReplicaMinutes: f.cost(c), Reached: f.reached(c),
		Changes: runs.Over(func(o *Outcome) float64 { return o.SteadyChanges }).Mean,
		Lost:    runs.Over(func(o *Outcome) float64 { return float64(o.lost()) }).Mean,
		name:    f.report.Policies[c.index].Name,
	}
}

// advice is what the runs so far amount to.
func (f *searching) advice() (*Advice, error) {
	s := f.scenario
	a := &Advice{
		Scenario: s.Name, About: s.About, Wanted: s.Wanted.String(), Measure: "W/s", Limit: s.Wanted.limit(), Seeds: s.Seeds,
		Interrupted: f.ctx.Err() != nil, unit: decimals(2),
	}
	if s.Wanted.P90 > 0 {
		a.Measure, a.unit = "p90", seconds
	}
	chosen := f.best(s.Seeds)
	if chosen == nil || a.Interrupted {
		chosen = f.best(1) // it has not run with every seed, or keeps nothing
	}
	if chosen == nil {
		return nil, errNothing
	}
	for _, c := range f.tried {
		t := f.try(c)
		switch {
		case t == nil:
		case c.index == 0:
			a.Fixed = t
		case c.index == 1:
			a.Today = t
			fallthrough
		default:
			a.Tried = append(a.Tried, t)
		}
		if c == chosen {
			a.Chosen, a.Kept = t, t.Kept
		}
	}
	a.front()
	a.Values = f.differing(chosen.knobs)
	return a, nil
}

// front sorts what was tried by cost, and marks what nothing cheaper beats.
func (a *Advice) front() {
	slices.SortStableFunc(a.Tried, func(x, y *Try) int {
		switch {
		case x.ReplicaMinutes != y.ReplicaMinutes:
			return cmp.Compare(x.ReplicaMinutes, y.ReplicaMinutes)
		case x.Reached != y.Reached:
			return cmp.Compare(x.Reached, y.Reached)
		}
		return len(x.Set) - len(y.Set)
	})
	var last *Try
	for _, t := range a.Tried {
		if t.Front = last == nil || t.Reached < last.Reached; t.Front {
			last = t
		}
	}
}

// differing are the scenario's and the candidate's values, where they differ from the
// chart's defaults.
func (f *searching) differing(k knobs) map[string]any {
	all := map[string]any{"keda": map[string]any{"enabled": true}}
	lay(all, f.scenario.Values)
	lay(all, k.nested())
	prune(all, f.Defaults)
	return all
}

// prune removes values that are equal to the defaults.
func prune(vals, defaults map[string]any) {
	for key, v := range vals {
		inner, object := v.(map[string]any)
		under, both := defaults[key].(map[string]any)
		if object && both {
			prune(inner, under)
			if len(inner) == 0 {
				delete(vals, key)
			}
			continue
		}
		if same(v, defaults[key]) {
			delete(vals, key)
		}
	}
}

// YAML writes the values as a values file.
func (a *Advice) YAML(out io.Writer) error {
	text, err := yaml.Marshal(a.Values)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// Text writes the advice with the front, and the values.
func (a *Advice) Text(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\nwanted: %s\n", a.Scenario, a.About, a.Wanted)
	for _, line := range a.notes() {
		fmt.Fprintln(out, line)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\n"+strings.Join(a.header(), "\t"))
	for _, row := range a.summary() {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	fmt.Fprintf(t, "\nwhat nothing cheaper beats:\n%s\n", strings.Join(a.header(), "\t"))
	for _, row := range a.frontRows() {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n# %s, for -f\n", a.title())
	return a.YAML(out)
}

func (a *Advice) title() string {
	if a.Kept {
		return "Recommended values"
	}
	return "The closest values"
}

// notes say how sure the advice is.
func (a *Advice) notes() (all []string) {
	every := 0
	for _, t := range a.Tried {
		if t.Seeds == a.Seeds {
			every++
		}
	}
	all = append(all, fmt.Sprintf("%d candidates tried, %d of them with every seed of %d", len(a.Tried), every, a.Seeds))
	if a.Interrupted {
		all = append(all, "interrupted: this is what is known so far")
	}
	if !a.Kept {
		all = append(all, "nothing that was tried keeps the goal; this comes closest")
	} else if a.Chosen.Seeds < a.Seeds {
		all = append(all, fmt.Sprintf("what is recommended ran with %d of %d seeds", a.Chosen.Seeds, a.Seeds))
	}
	return all
}

func (a *Advice) header() []string {
	return []string{"", "replica-minutes", "beside today's", a.Measure, "kept", "changes/h", "lost", "seeds"}
}

// summary has what is recommended beside today's values and the least fixed fleet.
func (a *Advice) summary() [][]string {
	rows := [][]string{a.row(strings.ToLower(a.title()), a.Chosen)}
	if a.Today != nil {
		rows = append(rows, a.row(a.Today.name, a.Today))
	}
	if a.Fixed != nil {
		rows = append(rows, a.row(fmt.Sprintf("%s (%d)", leastFleet, a.Fixed.Replicas), a.Fixed))
	}
	return rows
}

// frontRows has a row for each candidate of the front, at most a dozen around what is
// recommended.
func (a *Advice) frontRows() (rows [][]string) {
	var front []*Try
	for _, t := range a.Tried {
		if t.Front {
			front = append(front, t)
		}
	}
	const most = 12
	at := max(0, slices.Index(front, a.Chosen))
	from := max(0, min(at-most/2, len(front)-most))
	for _, t := range front[from:min(len(front), from+most)] {
		rows = append(rows, a.row(t.name, t))
	}
	return rows
}

func (a *Advice) row(name string, t *Try) []string {
	beside, kept := "", "no"
	if a.Today != nil && a.Today.ReplicaMinutes > 0 {
		beside = fmt.Sprintf("%+.0f %%", 100*(t.ReplicaMinutes/a.Today.ReplicaMinutes-1))
	}
	if t.Kept {
		kept = "yes"
	}
	return []string{
		name, decimals(1)(t.ReplicaMinutes), beside, a.unit(t.Reached), kept,
		decimals(1)(t.Changes), decimals(0)(t.Lost), fmt.Sprint(t.Seeds),
	}
}
