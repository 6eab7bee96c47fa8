package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fastmachinelearning/supersonic/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"supersonic": func() {
			os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			return nil
		},
	})
}

// exits is for scripts: exits CODE PROGRAM ARGUMENTS… runs a program that has to end with this exit code.
func exits(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENTS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		got = strconv.Itoa(ended.ExitCode())
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", args[1], got, args[0])
	}
}
