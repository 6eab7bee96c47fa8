// Command genchart writes the parts of the chart and the docs that are generated from
// the package promql: templates, dashboards and tables.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fastmachinelearning/supersonic/internal/generate"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "genchart:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := generate.Dashboards()
	if err != nil {
		return err
	}
	if files[generate.TemplatesFile], err = generate.Templates(); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join("chart", name), text, 0o644); err != nil {
			return err
		}
	}
	for name, table := range generate.Docs() {
		if err := writeTable(name, table()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func writeTable(name, table string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text, err := generate.PutTable(string(page), table)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
