package build

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The lab's KEDA has three of its scalers. The other seventy need clients of as
// many services, which would take most of the build time. Everything else is as
// published.
var (
	scalers     = []string{"prometheus", "cpu", "memory"}
	scalerFiles = []string{"scaler.go", "prometheus_scaler.go", "cpu_memory_scaler.go"}
)

// sharedByScalers is what the remaining scalers use of those that are left out.
const sharedByScalers = "\nconst externalMetricType = \"External\"\n"

// scalerCase is one line of KEDA's choice among its scalers.
var scalerCase = regexp.MustCompile(`(?m)^\tcase "([^"]+)":\n\t\treturn [^\n]+\n`)

// copyKEDA copies the module's sources, without tests and the scalers that are
// left out.
func copyKEDA(from, to string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		dir, base := filepath.Split(rel)
		switch {
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case filepath.Ext(base) != ".go" && base != "go.mod" && base != "go.sum",
			strings.HasSuffix(base, "_test.go"),
			dir == "pkg/scalers/" && !slices.Contains(scalerFiles, base):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		switch rel {
		case "pkg/scalers/scaler.go":
			text = append(text, sharedByScalers...)
		case "pkg/scaling/scalers_builder.go":
			if text, err = fewerScalers(text); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}

// fewerScalers removes the scalers that are left out from KEDA's choice.
func fewerScalers(text []byte) ([]byte, error) {
	kept := 0
	out := scalerCase.ReplaceAllStringFunc(string(text), func(c string) string {
		if name := scalerCase.FindStringSubmatch(c)[1]; slices.Contains(scalers, name) {
			kept++
			return c
		}
		return ""
	})
	if kept != len(scalers) {
		return nil, fmt.Errorf("%d of the scalers %s, want each once", kept, strings.Join(scalers, ", "))
	}
	return []byte(out), nil
}
