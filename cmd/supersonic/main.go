// Command supersonic prints the queries, renders the chart and checks values.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/fastmachinelearning/supersonic/internal/cli"
)

// gcPercent is the growth of the heap, in percent, that calls for a collection.
const gcPercent = 400

func main() {
	// Most runs end before a collection would have paid.
	debug.SetGCPercent(gcPercent)
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
