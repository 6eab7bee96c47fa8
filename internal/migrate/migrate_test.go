package migrate_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fastmachinelearning/supersonic/internal/migrate"
)

var update = flag.Bool("update", false, "write what is migrated into the cases")

// A migration is one case: the layers in in/, the results in out/, and the messages in
// notes. The comment holds the options.
type migration struct {
	name    string
	archive *txtar.Archive
	options migrate.Options
	layers  []migrate.Layer
	want    map[string]string
}

func migrations(t *testing.T) []migration {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []migration
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := migration{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), archive: a, want: map[string]string{}}
		for line := range strings.Lines(string(a.Comment)) {
			line = strings.TrimSpace(line)
			m.options.KeepScaling = m.options.KeepScaling || line == "keep-scaling"
			m.options.DropDefaults = m.options.DropDefaults || line == "drop-defaults"
			if name, ok := strings.CutPrefix(line, "release: "); ok {
				m.options.Release = name
			}
		}
		for _, f := range a.Files {
			if name, ok := strings.CutPrefix(f.Name, "in/"); ok {
				m.layers = append(m.layers, migrate.Layer{Name: name, Text: f.Data})
				continue
			}
			m.want[f.Name] = string(f.Data)
		}
		all = append(all, m)
	}
	return all
}

func migrated(t *testing.T, layers []migrate.Layer, o migrate.Options) []migrate.Result {
	t.Helper()
	results, err := migrate.Files(layers, o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// shown returns the files of a case with these results.
func shown(results []migrate.Result) map[string]string {
	files := map[string]string{}
	var notes strings.Builder
	for _, r := range results {
		files["out/"+r.Name] = string(r.Text)
		for _, n := range r.Changes {
			fmt.Fprintf(&notes, "%s: %s\n", r.Name, n)
		}
		for _, n := range r.Left {
			fmt.Fprintf(&notes, "%s: left to do: %s\n", r.Name, n)
		}
	}
	files["notes"] = notes.String()
	return files
}

func TestOldValuesMigrate(t *testing.T) {
	for _, m := range migrations(t) {
		t.Run(m.name, func(t *testing.T) {
			results := migrated(t, m.layers, m.options)
			got := shown(results)
			if *update {
				write(t, m, results, got)
				return
			}
			if diff := cmp.Diff(m.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, m migration, results []migrate.Result, got map[string]string) {
	t.Helper()
	a := &txtar.Archive{Comment: m.archive.Comment}
	for _, l := range m.layers {
		a.Files = append(a.Files, txtar.File{Name: "in/" + l.Name, Data: l.Text})
	}
	for _, r := range results {
		a.Files = append(a.Files, txtar.File{Name: "out/" + r.Name, Data: []byte(got["out/"+r.Name])})
	}
	a.Files = append(a.Files, txtar.File{Name: "notes", Data: []byte(got["notes"])})
	if err := os.WriteFile("testdata/"+m.name+".txtar", txtar.Format(a), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Migrating migrated values changes nothing.
func TestMigrateTwice(t *testing.T) {
	for _, m := range migrations(t) {
		t.Run(m.name, func(t *testing.T) {
			var again []migrate.Layer
			for _, r := range migrated(t, m.layers, m.options) {
				again = append(again, r.Layer)
			}
			for i, r := range migrated(t, again, m.options) {
				if diff := cmp.Diff(string(again[i].Text), string(r.Text)); diff != "" {
					t.Errorf("%s (-once +twice):\n%s", r.Name, diff)
				}
				for _, n := range r.Changes {
					t.Errorf("%s: told again: %s", r.Name, n)
				}
			}
		})
	}
}

// Files from Windows keep their line endings and their byte order mark.
func TestFilesOfWindowsStaySo(t *testing.T) {
	windows := func(text string) []byte {
		return append([]byte("\xef\xbb\xbf"), strings.ReplaceAll(text, "\n", "\r\n")...)
	}
	for _, m := range migrations(t) {
		t.Run(m.name, func(t *testing.T) {
			var layers []migrate.Layer
			for _, l := range m.layers {
				layers = append(layers, migrate.Layer{Name: l.Name, Text: windows(string(l.Text))})
			}
			for i, r := range migrated(t, layers, m.options) {
				want := windows(string(migrated(t, m.layers, m.options)[i].Text))
				if !bytes.Equal(want, r.Text) {
					t.Errorf("%s (-want +got):\n%s", r.Name, cmp.Diff(string(want), string(r.Text)))
				}
			}
		})
	}
}
