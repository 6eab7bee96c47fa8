package ab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// file of an outcome, so that an interrupted comparison can continue.
func file(dir, name string, arm string, run int) string {
	return filepath.Join(dir, fmt.Sprintf("%s.%s.%d.json", name, arm, run))
}

// All runs every load with each of its arms, the given number of times, and keeps
// each outcome in a file. The arms take turns, so that a slow phase of the machine
// affects all of them, and every load runs once before any runs again.
func All(ctx context.Context, c *cluster.Cluster, dir string, times int, queueLatency string, say func(string)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for run := range times {
		for _, l := range Loads {
			for _, arm := range l.arms() {
				path := file(dir, l.Name, arm.Name, run)
				if _, err := os.Stat(path); err == nil {
					continue
				}
				say(fmt.Sprintf("%s, %s, run %d", l.Name, arm.Name, run+1))
				o, err := one(ctx, c, l, arm, run, queueLatency, say)
				if err != nil {
					return fmt.Errorf("%s, %s, run %d: %w", l.Name, arm.Name, run+1, err)
				}
				say(l.summary(o))
				if err := o.keep(path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// arms of a load, in the order of Arms.
func (l Load) arms() []Arm {
	return slices.DeleteFunc(slices.Clone(Arms), func(a Arm) bool { return !slices.Contains(l.Arms, a.Name) })
}

// one installs an arm, applies the load, and removes it.
func one(ctx context.Context, c *cluster.Cluster, l Load, arm Arm, run int, queueLatency string, say func(string)) (Outcome, error) {
	r := cluster.Release{Cluster: c, Name: "sonic", Namespace: "ab"}
	remove := func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(r.Uninstall(ctx), c.RemoveNamespace(ctx, r.Namespace))
	}
	if err := remove(); err != nil { // left by an interrupted run
		return Outcome{}, err
	}
	defer func() {
		if err := remove(); err != nil {
			say("left behind: " + err.Error())
		}
	}()
	if err := r.Apply(ctx, append([]string{"-f", c.Values("lab")}, arm.Values(l.Ideal, queueLatency)...)...); err != nil {
		return Outcome{}, err
	}
	address, err := r.Address(ctx, r.Name, "grpc")
	if err != nil {
		return Outcome{}, err
	}
	if err := answers(ctx, address); err != nil {
		return Outcome{}, err
	}
	sizes := r.WatchSizes(ctx)
	calls, err := l.put(ctx, address, run, sizes)
	o := newOutcome(calls, sizes.Stop())
	o.Load, o.Arm, o.Run, o.Date = l.Name, arm.Name, run, time.Now().UTC().Format(time.DateOnly)
	return o, err
}

// put sends the load, phase after phase, to an address.
func (l Load) put(ctx context.Context, address string, run int, sizes *cluster.Sizes) (all load.Result, err error) {
	for i, p := range l.Phases {
		begin := sizes.Since()
		going, err := p.start(address, uint64(run*10+i))
		if err != nil {
			return all, err
		}
		select {
		case <-time.After(p.Lasts): // The load itself.
		case <-ctx.Done():
			going.Stop()
			return all, ctx.Err()
		}
		all.Lasted += p.Lasts
		for _, call := range going.Stop().Calls {
			call.At += begin
			all.Calls = append(all.Calls, call)
		}
	}
	return all, nil
}

func answers(ctx context.Context, address string) error {
	client, err := load.Dial(address, "")
	if err != nil {
		return err
	}
	defer client.Close()
	return cluster.Await(ctx, time.Minute, "first answer", func(ctx context.Context) error {
		return client.Infer(ctx, "fast")
	})
}

// escape writes a value for helm's --set-string.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, "{", `\{`, "}", `\}`).Replace(text)
}

func itoa(n int) string { return strconv.Itoa(n) }
