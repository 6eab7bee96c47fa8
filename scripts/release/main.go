// Command release writes a release into a folder: for each platform an archive with the command, which is also a Helm
// plugin, and a list of its modules (CycloneDX); the packaged chart; and the checksums. With a key, the checksums are
// signed, and so is everything that Helm installs, in the way that Helm verifies.
//
// Two runs on the same files, with the same Go and the same SOURCE_DATE_EPOCH, write the same bytes, except for the
// signatures, which contain their time.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	out := flag.String("out", "dist", "an empty `FOLDER` to write to")
	targets := flag.String("platforms", platforms, "`LIST` of platforms to build the command for")
	var k key
	flag.StringVar(&k.ring, "keyring", "", "`FILE` with the secret key to sign with")
	flag.StringVar(&k.name, "key", "", "`NAME` of that key, or a part of it")
	flag.StringVar(&k.passphrase, "passphrase-file", "", "`FILE` whose first line unlocks the key")
	flag.Parse()
	if err := run(*out, strings.Split(*targets, ","), k); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out string, targets []string, k key) error {
	r, err := newRelease(out, k)
	if err != nil {
		return err
	}
	if err := r.chart(); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	for _, target := range targets {
		if err := r.command(target); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	if err := r.checksums(); err != nil {
		return err
	}
	if r.signer == nil {
		fmt.Println("The release is not signed: give -keyring and -key to sign it.")
	}
	return nil
}

// A release is being written. The working directory is the root of the repository.
type release struct {
	name, version string // of the chart, and of everything else
	chartYAML     []byte
	time          time.Time // modification time of every file in an archive
	out           string
	signer        *signer
	sums          []string // lines of the checksum file
}

func newRelease(out string, k key) (*release, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: must be the time of the release in Unix seconds, got %q", os.Getenv("SOURCE_DATE_EPOCH"))
	}
	text, err := os.ReadFile("chart/Chart.yaml")
	if err != nil {
		return nil, fmt.Errorf("run it in the root of the repository: %w", err)
	}
	var meta struct{ Name, Version string }
	if err := yaml.Unmarshal(text, &meta); err != nil {
		return nil, fmt.Errorf("chart/Chart.yaml: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(out); err != nil {
		return nil, err
	} else if len(entries) > 0 {
		return nil, fmt.Errorf("-out: must be an empty folder, but %s holds %s", out, entries[0].Name())
	}
	signer, err := k.open()
	if err != nil {
		return nil, err
	}
	return &release{
		name: meta.Name, version: meta.Version, chartYAML: text, time: time.Unix(seconds, 0).UTC(), out: out, signer: signer,
	}, nil
}

// put writes a file of the release.
func (r *release) put(name string, data []byte) error {
	r.sums = append(r.sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
	fmt.Println(name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// putSigned writes an archive, and a signature of it and of the metadata that Helm shows.
func (r *release) putSigned(name string, data, metadata []byte) error {
	if err := r.put(name, data); err != nil || r.signer == nil {
		return err
	}
	prov, err := r.signer.provenance(name, data, metadata)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".prov"), prov, 0o644)
}

// chart writes the packaged chart.
func (r *release) chart() error {
	ignored, err := os.ReadFile("chart/.helmignore")
	if err != nil {
		return err
	}
	files, err := tree("chart", r.name, strings.Fields(string(ignored)))
	if err != nil {
		return err
	}
	// Chart.yaml comes first, as in the archives of helm package.
	first := r.name + "/Chart.yaml"
	slices.SortStableFunc(files, func(a, b file) int {
		switch {
		case a.name == first:
			return -1
		case b.name == first:
			return 1
		}
		return 0
	})
	data, err := r.archive(files)
	if err != nil {
		return err
	}
	return r.putSigned(fmt.Sprintf("%s-%s.tgz", r.name, r.version), data, r.chartYAML)
}

// checksums writes the checksums of the files so far.
func (r *release) checksums() error {
	slices.SortFunc(r.sums, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	text := []byte(strings.Join(r.sums, ""))
	const name = "SHA256SUMS"
	if err := os.WriteFile(filepath.Join(r.out, name), text, 0o644); err != nil || r.signer == nil {
		return err
	}
	var signature bytes.Buffer
	err := r.signer.detached(&signature, text)
	return errors.Join(err, os.WriteFile(filepath.Join(r.out, name+".asc"), signature.Bytes(), 0o644))
}
