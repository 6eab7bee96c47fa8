// Command genvalues writes the table of values in chart/README.md from the
// comments in chart/values.yaml.
package main

import (
	"fmt"
	"os"
)

const (
	readmeFile = "chart/README.md"
	valuesFile = "chart/values.yaml"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "genvalues:", err)
		os.Exit(1)
	}
}

func write() error {
	readme, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	values, err := os.ReadFile(valuesFile)
	if err != nil {
		return err
	}
	text, err := put(readme, values)
	if err != nil {
		return err
	}
	return os.WriteFile(readmeFile, text, 0o644)
}
