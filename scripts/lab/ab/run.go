package ab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/cluster"
	"github.com/fastmachinelearning/supersonic/scripts/lab/load"
)

// An Outcome is one run of one arm under one load.
type Outcome struct {
	Load   string         `json:"load"`
	Arm    string         `json:"arm"`
	Run    int            `json:"run"`
	Date   string         `json:"date"`
	Course []cluster.Size `json:"course"`
	Calls  load.Result    `json:"calls"`
}

// file of an outcome, so that an interrupted comparison can continue.
func file(dir, name string, arm string, run int) string {
	return filepath.Join(dir, fmt.Sprintf("%s.%s.%d.json", name, arm, run))
}

// All runs every arm under the loads, the given number of times, and keeps each
// outcome in a file. The arms take turns, so that a slow phase of the machine affects all of them.
func All(ctx context.Context, c *cluster.Cluster, dir string, loads []Load, times int, queueLatency string, say func(string)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, l := range loads {
		for run := range times {
			for _, arm := range Arms {
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

// keep writes an outcome's file, whole or not at all.
func (o Outcome) keep(path string) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// one installs an arm, applies the load, and removes it.
func one(ctx context.Context, c *cluster.Cluster, l Load, arm Arm, run int, queueLatency string, say func(string)) (o Outcome, err error) {
	r := cluster.Release{Cluster: c, Name: "sonic", Namespace: "ab"}
	remove := func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(r.Uninstall(ctx), c.RemoveNamespace(ctx, r.Namespace))
	}
	if err := remove(); err != nil { // left by an interrupted run
		return o, err
	}
	defer func() {
		if err := remove(); err != nil {
			say("left behind: " + err.Error())
		}
	}()
	if err := r.Apply(ctx, append([]string{"-f", c.Values("lab")}, arm.Values(l.Ideal, queueLatency)...)...); err != nil {
		return o, err
	}
	address, err := r.Address(ctx, r.Name, "grpc")
	if err != nil {
		return o, err
	}
	if err := answers(ctx, address); err != nil {
		return o, err
	}
	o = Outcome{Load: l.Name, Arm: arm.Name, Run: run, Date: time.Now().UTC().Format(time.DateOnly)}
	sizes := r.WatchSizes(ctx)
	o.Calls, err = l.put(ctx, address, run, sizes)
	o.Course = sizes.Stop()
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
