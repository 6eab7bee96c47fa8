package envoy

import (
	"os"
	"path/filepath"
	"testing"
)

// Mount replaces the files of a folder as the kubelet does: all at once, by a symbolic link that is renamed.
func Mount(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.MkdirTemp(dir, "..data-")
	if err != nil {
		t.Fatal(err)
	}
	var steps []error
	for name, text := range files {
		steps = append(steps, os.WriteFile(filepath.Join(data, name), []byte(text), 0o600))
		if _, missing := os.Lstat(filepath.Join(dir, name)); missing != nil {
			steps = append(steps, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
		}
	}
	fresh := filepath.Join(dir, "..data_tmp")
	steps = append(steps, os.Symlink(data, fresh), os.Rename(fresh, filepath.Join(dir, "..data")))
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
}
