// Package release_test builds a release for this machine and uses it as its users do.
package release_test

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastmachinelearning/supersonic/chart"
	"github.com/fastmachinelearning/supersonic/internal/render"
)

const root = "../../.."

// host is this machine's platform, as in the names of archives.
const host = runtime.GOOS + "-" + runtime.GOARCH

var version = sync.OnceValues(func() (string, error) {
	c, err := render.Load(chart.FS())
	if err != nil {
		return "", err
	}
	return c.Metadata.Version, nil
})

// named returns the name of a file of the release: that of the chart, the version, and the rest.
func named(t *testing.T, rest string) string {
	t.Helper()
	v, err := version()
	if err != nil {
		t.Fatal(err)
	}
	return "supersonic-" + v + rest
}

// program builds the program that make release runs.
func program(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	cmd := exec.Command("go", "build", "-C", filepath.Join(root, "scripts", "release"), "-o", out, ".")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

// write writes a release of the tree for this machine into a folder, and returns its files by name.
func write(t *testing.T, program, tree string, flags ...string) (dist, said string) {
	t.Helper()
	dist = filepath.Join(t.TempDir(), "dist")
	cmd := exec.Command(program, append(flags, "-out", dist, "-platforms", runtime.GOOS+"/"+runtime.GOARCH)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dist, string(out)
}

// copyTree copies the files of the repository, including new ones, into another folder with other modification times.
func copyTree(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "another-name")
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpack unpacks an archive of a release into an empty folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if said, err := exec.Command("tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return dir
}

// TestRelease checks that releases of the tree and of a copy are equal, and uses the first.
func TestRelease(t *testing.T) {
	program := program(t)
	k := newKey(t)
	dist, said := write(t, program, root, k.flags()...)
	t.Run("two-folders-give-the-same-bytes", func(t *testing.T) {
		again, unsigned := write(t, program, copyTree(t))
		if diff := cmp.Diff(string(read(t, dist, "SHA256SUMS")), string(read(t, again, "SHA256SUMS"))); diff != "" {
			t.Errorf("(-here +in a copy)\n%s", diff)
		}
		const notice = "The release is not signed"
		if !strings.Contains(unsigned, notice) || strings.Contains(said, notice) {
			t.Errorf("without a key it says\n%s\nand with one\n%s", unsigned, said)
		}
		if signed, _ := filepath.Glob(filepath.Join(again, "*.prov")); len(signed) > 0 {
			t.Errorf("without a key it has %v", signed)
		}
	})
	t.Run("checksums", func(t *testing.T) { checksums(t, dist) })
	t.Run("modules", func(t *testing.T) { modules(t, dist) })
	t.Run("first-command", func(t *testing.T) { firstCommand(t, dist) })
	t.Run("signatures", func(t *testing.T) { signatures(t, dist, k) })
	t.Run("chart", func(t *testing.T) { packaged(t, dist) })
	t.Run("plugin", func(t *testing.T) { plugin(t, dist, k) })
}

// checksums checks that there is a checksum of every file but the signatures.
func checksums(t *testing.T, dist string) {
	want := map[string]string{}
	for line := range strings.Lines(string(read(t, dist, "SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	got := map[string]string{}
	for _, name := range []string{".tgz", "-" + host + ".tar.gz", "-" + host + ".cdx.json"} {
		name = named(t, name)
		got[name] = fmt.Sprintf("%x", sha256.Sum256(read(t, dist, name)))
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("SHA256SUMS (-files +said)\n%s", diff)
	}
}

// modules checks that the list has each module that the linker recorded, and Go itself.
func modules(t *testing.T, dist string) {
	var bom struct {
		Metadata struct {
			Component struct{ Version, Purl string }
		}
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(read(t, dist, named(t, "-"+host+".cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(filepath.Join(unpack(t, filepath.Join(dist, named(t, "-"+host+".tar.gz"))), "supersonic"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"std": strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want[m.Path] = m.Version
	}
	got := map[string]string{}
	for _, c := range bom.Components {
		got[c.Name] = c.Version
		if c.Purl != "pkg:golang/"+c.Name+"@"+strings.ReplaceAll(c.Version, "+", "%2B") {
			t.Errorf("%s %s has the address %s", c.Name, c.Version, c.Purl)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(bom.Components) != len(got) {
		t.Errorf("modules (-linked +listed)\n%s", diff)
	}
	if v, _ := version(); bom.Metadata.Component.Version != "v"+v {
		t.Errorf("its own version is %s", bom.Metadata.Component.Version)
	}
}

var indented = regexp.MustCompile(`(?m)^    (\S.*)$`)

// firstCommand runs the first command of the archive's README with nothing else in PATH.
func firstCommand(t *testing.T, dist string) {
	dir := unpack(t, filepath.Join(dist, named(t, "-"+host+".tar.gz")))
	line := indented.FindSubmatch(read(t, dir, "README.md"))
	if line == nil {
		t.Fatal("README.md has no command")
	}
	for command, want := range map[string]string{
		string(line[1]):        "kind: ScaledObject",
		"./supersonic version": named(t, "\n")[len("supersonic-"):],
	} {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/nonexistent"}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q in\n%.2000s", command, err, want, out)
		}
	}
}

// packaged checks that the packaged chart is that of helm package.
func packaged(t *testing.T, dist string) {
	for _, helm := range helms(t) {
		if said, err := helm.run("package", filepath.Join(root, "chart"), "-d", helm.home); err != nil {
			t.Fatal(said)
		}
		want := contents(t, unpack(t, filepath.Join(helm.home, named(t, ".tgz"))))
		got := contents(t, unpack(t, filepath.Join(dist, named(t, ".tgz"))))
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s: files (-helm package +release)\n%s", helm.name, diff)
		}
		for name := range want {
			if name != "supersonic/Chart.yaml" && !bytes.Equal(want[name], got[name]) { // Helm rewrites that one
				t.Errorf("%s: %s differs", helm.name, name)
			}
		}
		said, err := helm.run("show", "chart", filepath.Join(dist, named(t, ".tgz")))
		if v, _ := version(); err != nil || !strings.Contains(said, "version: "+v) {
			t.Errorf("%s: %v\n%s", helm.name, err, said)
		}
	}
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = read(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Errors are reported before anything is written.
func TestRefusals(t *testing.T) {
	program, k, full := program(t), newKey(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old.tgz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, epoch, out, want, flags string }{
		{name: "no-time", want: `SOURCE_DATE_EPOCH: must be the time of the release in Unix seconds, got ""`},
		{name: "old-files", epoch: "1", out: full, want: "-out: must be an empty folder, but " + full + " holds old.tgz"},
		{name: "keyring-without-key", epoch: "1", flags: "-keyring " + k.secret, want: "-keyring and -key: both are needed to sign"},
		{name: "unknown-key", epoch: "1", flags: "-keyring " + k.secret + " -key Nobody", want: `has no secret key named "Nobody"`},
		{name: "public-key", epoch: "1", flags: "-keyring " + k.public + " -key Release", want: `has no secret key named "Release"`},
		{
			name: "locked-key", epoch: "1", flags: "-keyring " + k.secret + " -key Release",
			want: `-passphrase-file: must be set, since the key "Release" is locked`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.out == "" {
				tc.out = t.TempDir()
			}
			cmd := exec.Command(program, append(strings.Fields(tc.flags), "-out", tc.out)...)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "SOURCE_DATE_EPOCH="+tc.epoch)
			said, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(said), tc.want) {
				t.Errorf("error is %v, want %q in\n%s", err, tc.want, said)
			}
		})
	}
}
