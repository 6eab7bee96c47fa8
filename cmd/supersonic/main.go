// Command supersonic prints the queries, renders the chart and checks values.
package main

import (
	"context"
	"os"

	"github.com/fastmachinelearning/supersonic/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
