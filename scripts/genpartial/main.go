// Command genpartial writes the chart's copy of the queries, and the dashboards.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fastmachinelearning/supersonic/internal/partial"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "genpartial:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := partial.Dashboards()
	if err != nil {
		return err
	}
	if files[partial.File], err = partial.Generate(); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join("chart", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
