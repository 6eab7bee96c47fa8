// Package input reads the YAML files named on the command line, up to the maximum size of a values file.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"
)

// MaxBytes is the size of the largest object that Kubernetes stores, such as the Secret in which Helm keeps the values.
const MaxBytes = 1 << 20

// Read reads a file, or stdin if the name is -.
func Read(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" && stdin != nil {
		return All(stdin)
	}
	f, err := os.Open(name)
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("no such file")
	case errors.As(err, &pathErr):
		return nil, pathErr.Err
	}
	defer f.Close()
	text, err := All(f)
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return text, err
}

// All reads everything, or fails as soon as it is more than MaxBytes.
func All(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("must be at most %d bytes", MaxBytes)
	}
	if bytes.ContainsRune(text, '&') && bytes.ContainsRune(text, '*') {
		err = checkAliases(text)
	}
	return text, err
}

// checkAliases rejects a text that is too long once its aliases are expanded.
func checkAliases(text []byte) error {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil {
		return nil // the caller's parser reports why it is not YAML
	}
	w := written{}
	if w.size(&doc) > MaxBytes {
		return fmt.Errorf("must be at most %d bytes with its aliases (*) written out", MaxBytes)
	}
	return nil
}

// written caches the sizes of anchored nodes, so that each is measured once.
type written map[*yaml.Node]int

func (w written) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if size, known := w[n]; known {
		return size
	}
	w[n] = MaxBytes + 1 // for a node that contains itself
	size := len(n.Value) + 1
	for _, child := range n.Content {
		size = min(size+w.size(child), MaxBytes+1)
	}
	w[n] = size
	return size
}
