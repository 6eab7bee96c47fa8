package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// Loaded is a chart that is ready to render, any number of times.
type Loaded struct {
	*helmchart.Chart
	schema func() (*schema, error) // compiled once, when first asked for
}

// Load reads a chart's folder as Helm does, without the files in .helmignore.
func Load(fsys fs.FS) (*Loaded, error) {
	files, err := read(fsys)
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	compile := sync.OnceValues(func() (*schema, error) { return compileSchema(c.Schema) })
	return &Loaded{c, compile}, nil
}

func read(fsys fs.FS) ([]*loader.BufferedFile, error) {
	rules, err := ignoreRules(fsys)
	if err != nil {
		return nil, err
	}
	var files []*loader.BufferedFile
	err = fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := fs.Stat(fsys, path) // follows links
		if err != nil {
			return err
		}
		if rules.Ignore(path, info) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := fs.ReadFile(fsys, path)
		files = append(files, &loader.BufferedFile{Name: path, Data: data})
		return err
	})
	return files, err
}

func ignoreRules(fsys fs.FS) (*ignore.Rules, error) {
	text, err := fs.ReadFile(fsys, ignore.HelmIgnore)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules, err := ignore.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
	}
	rules.AddDefaults()
	return rules, nil
}
