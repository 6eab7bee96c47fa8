// Package golden compares what a test produced with committed files, and
// rewrites them with go test -update.
package golden

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// CompareDir compares the files in a folder, by slash-separated path, with got. A
// missing file is an error, and so is an additional one. With -update it rewrites the
// folder.
func CompareDir(t testing.TB, dir string, got map[string]string) {
	t.Helper()
	if !strings.Contains(t.Name(), "Golden") && !strings.Contains(t.Name(), "Picture") {
		t.Fatal("make golden runs only the tests that have Golden or Picture in their name")
	}
	if *update {
		rewrite(t, dir, got)
		return
	}
	want, err := files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not what is produced (-committed +produced); if that is right, run make golden:\n%s", dir, diff)
	}
}

// Dirs returns the names of the folders in dir. With -update, it first removes those
// that are not in want.
func Dirs(t testing.TB, dir string, want map[string]bool) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if *update && !want[e.Name()] {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		names = append(names, e.Name())
	}
	return names
}

func files(dir string) (map[string]string, error) {
	found := map[string]string{}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return found, nil
	}
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(fsys, path)
		found[path] = string(text)
		return err
	})
	return found, err
}

func rewrite(t testing.TB, dir string, got map[string]string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range got {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
