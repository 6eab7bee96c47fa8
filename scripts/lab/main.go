// Command lab runs a real Kubernetes node on this machine, with KEDA, and the
// end-to-end scenarios of the chart in it. See docs/lab.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fastmachinelearning/supersonic/scripts/lab/addons"
	"github.com/fastmachinelearning/supersonic/scripts/lab/build"
	"github.com/fastmachinelearning/supersonic/scripts/lab/images"
	"github.com/fastmachinelearning/supersonic/scripts/lab/node"
	"github.com/fastmachinelearning/supersonic/scripts/lab/tools"
)

const usage = `lab runs a Kubernetes node on this machine and the chart's scenarios in it.

Usage: go run . [-dir FOLDER] COMMAND

  build              make the binaries and images that are missing
  up                 build what is missing, start the node, install KEDA
  down               end the node and remove what it made (binaries and images stay)
  status             say what runs
  e2e [FLAG ...]     run the scenarios in it; flags are those of go test binaries, as in
                     -test.run TestInstall
  ab                 compare ways to size the fleet: runs that have no summary in
                     docs/comparison yet, then writes docs/comparison.html
  exec COMMAND ...   run a command in its network, as in: go run . exec kubectl get pods -A

Exit codes: 0, 1 for an error, 2 for wrong usage, 3 when the machine cannot run it.
`

// errLacks means that this machine cannot run the node.
var errLacks = errors.New("this machine cannot run the lab")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(code(run(ctx, os.Args[1:])))
}

// code prints an error and returns its exit code. A command that ran for its own output has already printed its error.
func code(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errLacks):
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 3
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, "lab: %v\n\n%s", err, usage)
		return 2
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	return 1
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	dir := flags.String("dir", defaultDir(), "folder of the lab")
	if err := flags.Parse(args); err != nil {
		return err
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	d := node.Dir(abs)
	switch rest := flags.Args(); {
	case len(rest) == 0:
		return fmt.Errorf("%w: no command", errUsage)
	case rest[0] == "exec" && len(rest) > 1:
		return interactive(d.Command(ctx, rest[1], rest[2:]...))
	case rest[0] == "e2e":
		return e2e(ctx, d, rest[1:])
	case len(rest) > 1:
		return fmt.Errorf("%w: %s takes no arguments", errUsage, rest[0])
	default:
		return command(ctx, d, rest[0])
	}
}

func command(ctx context.Context, d node.Dir, name string) error {
	switch name {
	case "build":
		if err := able(node.Lacks(d)); err != nil {
			return err
		}
		_, _, err := prepare(ctx, d, sayer())
		return err
	case "up":
		return up(ctx, d)
	case "down":
		return node.Down(ctx, d)
	case "status":
		return status(ctx, d)
	case "ab":
		return compare(ctx, d)
	case "ab-inside": // for ab: the runs
		return inside(ctx)
	case "spawn": // for up: starts process 1
		return node.Spawn(d)
	case "init": // process 1 inside
		return node.Init(d)
	}
	return fmt.Errorf("%w: no command %q", errUsage, name)
}

// defaultDir is .lab at the top of the repository, or what LAB names.
func defaultDir() string {
	if dir := os.Getenv("LAB"); dir != "" {
		return dir
	}
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return ".lab"
	}
	return filepath.Join(strings.TrimSpace(string(out)), ".lab")
}

func up(ctx context.Context, d node.Dir) error {
	if err := able(node.Lacks(d)); err != nil {
		return err
	}
	say := sayer()
	builder, archives, err := prepare(ctx, d, say)
	if err != nil {
		return err
	}
	lacks := node.LacksNetfilter(ctx, d)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := able(lacks); err != nil {
		return err
	}
	if err := node.Up(ctx, d, archives, say); err != nil {
		return err
	}
	config, err := builder.KEDAConfig(ctx)
	if err != nil {
		return err
	}
	if err := addons.Install(ctx, d, build.CoreDNS, builder.Pins.Version("keda"), config, say); err != nil {
		return err
	}
	say("up; try: go run . exec kubectl get pods -A")
	return nil
}

// able returns an error that lists what this machine lacks.
func able(lacks []string) error {
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("%w, it lacks:\n  %s", errLacks, strings.Join(lacks, "\n  "))
}

// sayer prints progress, with the seconds since the start.
func sayer() func(string) {
	begin := time.Now()
	return func(what string) { fmt.Printf("%4.0fs %s\n", time.Since(begin).Seconds(), what) }
}

// prepare makes missing binaries and images, and returns the archives of the
// images.
func prepare(ctx context.Context, d node.Dir, say func(string)) (build.Builder, []string, error) {
	pins, err := tools.Find()
	if err != nil {
		return build.Builder{}, nil, err
	}
	programs := build.Builder{Dir: string(d), Pins: pins, Say: say}
	if err := programs.All(ctx); err != nil {
		return programs, nil, err
	}
	if err := pins.Install(ctx, "envoy", "triton", "prometheus", "promtool", "helm"); err != nil {
		return programs, nil, err
	}
	for _, name := range []string{"helm", "promtool"} {
		_ = os.Remove(d.Bin(name)) // It may link to an earlier version.
		if err := os.Symlink(pins.Path(name, "bin", name), d.Bin(name)); err != nil {
			return programs, nil, err
		}
	}
	cache := filepath.Join(string(d), "cache")
	if err := images.Host(ctx, cache, d.Host()); err != nil {
		return programs, nil, err
	}
	archives, err := images.Builder{
		Programs: programs.File, Pins: pins, Cache: cache, Dir: filepath.Join(string(d), "images"), Say: say,
	}.All(ctx)
	return programs, archives, err
}

func status(ctx context.Context, d node.Dir) error {
	if !d.Running() {
		fmt.Println("the lab is down")
		return nil
	}
	all, err := d.Processes(ctx)
	if err != nil {
		return err
	}
	for name, p := range all {
		what := fmt.Sprintf("runs as %d", p.Pid)
		if p.Pid == 0 {
			what = p.Exit + ", see " + d.Run("log", name+".log")
		}
		fmt.Printf("%-24s %s\n", name, what)
	}
	return interactive(d.Command(ctx, "kubectl", "get", "pods", "-A"))
}

// e2e builds the scenarios and runs them inside the lab.
func e2e(ctx context.Context, d node.Dir, flags []string) error {
	pins, err := tools.Find()
	if err != nil {
		return err
	}
	binary := d.Bin("e2e.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./e2e")
	build.Dir, build.Env = pins.Module, append(os.Environ(), "CGO_ENABLED=0")
	if err := interactive(build); err != nil {
		return err
	}
	cmd := d.Command(ctx, binary, append([]string{"-test.v", "-test.timeout=60m"}, flags...)...)
	cmd.Dir = filepath.Join(pins.Module, "e2e")
	cmd.Env = append(cmd.Env, "LAB_INSIDE=1")
	return interactive(cmd)
}

func interactive(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
