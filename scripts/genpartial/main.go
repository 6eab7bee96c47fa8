// Command genpartial writes the chart's copy of the queries.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fastmachinelearning/supersonic/internal/partial"
)

func main() {
	text, err := partial.Generate()
	if err == nil {
		err = os.WriteFile(filepath.Join("chart", partial.File), text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genpartial:", err)
		os.Exit(1)
	}
}
