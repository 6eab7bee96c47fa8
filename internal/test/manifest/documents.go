package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// documents reads a YAML stream as kubectl does. A duplicate key is an error. Documents with only comments are left out.
func documents(stream string) ([]map[string]any, error) {
	var docs []map[string]any
	var errs []error
	r := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	for n := 1; ; n++ {
		raw, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, errors.Join(errs...)
		}
		if err != nil {
			return docs, errors.Join(append(errs, err)...)
		}
		doc, err := object(raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("document %d: %w", n, err))
		}
		if doc != nil {
			docs = append(docs, doc)
		}
	}
}

// object reads one YAML document, and keeps its numbers as they are written. It is nil if the document is empty.
func object(raw []byte) (map[string]any, error) {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil || value == nil {
		return nil, err
	}
	doc, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("must be an object, got %.40s", text)
	}
	return doc, nil
}
