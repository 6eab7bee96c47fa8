// Command genvalues generates, from chart/values.yaml and the types in
// chart/values.types.yaml, the schema of the values and the table in chart/README.md.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	valuesFile = "chart/values.yaml"
	typesFile  = "chart/values.types.yaml"
	schemaFile = "chart/values.schema.json"
	readmeFile = "chart/README.md"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := generate(os.DirFS(root))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the generated files, or all errors.
func generate(root fs.FS) (map[string][]byte, error) {
	text := map[string][]byte{}
	for _, name := range []string{valuesFile, typesFile, readmeFile} {
		var err error
		if text[name], err = fs.ReadFile(root, name); err != nil {
			return nil, err
		}
	}
	values, err := readValues(text[valuesFile])
	types, typesErr := readTypes(text[typesFile])
	if err := errors.Join(err, typesErr); err != nil {
		return nil, err
	}
	schema, err := newSchema(values, types)
	if err != nil {
		return nil, err
	}
	readme, err := put(text[readmeFile], values)
	return map[string][]byte{schemaFile: schema, readmeFile: readme}, err
}
