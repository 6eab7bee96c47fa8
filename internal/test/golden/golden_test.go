package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// recorder is a test that is expected to fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGoldenFolder(t *testing.T) {
	for _, tc := range []struct {
		name      string
		committed map[string]string
		produced  map[string]string
		fails     bool
	}{
		{"the-same", map[string]string{"a/b": "1"}, map[string]string{"a/b": "1"}, false},
		{"another-text", map[string]string{"a/b": "1"}, map[string]string{"a/b": "2"}, true},
		{"one-that-nothing-produced", map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1"}, true},
		{"one-that-is-not-committed", map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}, true},
		{"no-folder", nil, map[string]string{"a": "1"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "case")
			write(t, dir, tc.committed)
			r := &recorder{TB: t}
			CompareDir(r, dir, tc.produced)
			if r.failed != tc.fails {
				t.Errorf("failed: %t, want %t", r.failed, tc.fails)
			}
		})
	}
}

func TestGoldenUpdate(t *testing.T) {
	*update = true
	defer func() { *update = false }()
	root := t.TempDir()
	dir := filepath.Join(root, "case")
	write(t, dir, map[string]string{"old": "1", "kept": "1"})
	write(t, filepath.Join(root, "orphan"), map[string]string{"a": "1"})
	want := map[string]string{"kept": "2", "new/file": "3"}
	CompareDir(t, dir, want)
	Dirs(t, root, map[string]bool{"case": true})
	*update = false
	CompareDir(t, dir, want)
	if names := Dirs(t, root, map[string]bool{"case": true}); len(names) != 1 {
		t.Errorf("folders left: %q", names)
	}
}
