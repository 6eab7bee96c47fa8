// Package images writes container images from Go binaries, Debian packages and
// Python wheels, without a container engine and without a registry.
package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// A layer collects files in a tar stream. The first entry of a path wins.
type layer struct {
	w    *tar.Writer
	seen map[string]bool
}

func newLayer(w io.Writer) *layer {
	return &layer{w: tar.NewWriter(w), seen: map[string]bool{}}
}

// header writes an entry's header after those of its folders, and reports whether
// the entry is new. Everything belongs to root.
func (l *layer) header(h *tar.Header) (bool, error) {
	h.Name = strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	if h.Name == "" || l.seen[h.Name] {
		return false, nil
	}
	if parent := path.Dir(h.Name); parent != "." {
		if err := l.dir(parent, 0o755); err != nil {
			return false, err
		}
	}
	l.seen[h.Name] = true
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	return true, l.w.WriteHeader(h)
}

func (l *layer) dir(name string, mode int64) error {
	_, err := l.header(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode})
	return err
}

func (l *layer) file(name string, mode, size int64, r io.Reader) error {
	fresh, err := l.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size})
	if err != nil || !fresh {
		return err
	}
	_, err = io.Copy(l.w, r)
	return err
}

func (l *layer) text(name, text string) error {
	return l.file(name, 0o644, int64(len(text)), strings.NewReader(text))
}

// binary adds a program from the machine.
func (l *layer) binary(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return l.file(name, 0o755, info.Size(), f)
}

// deb adds what a Debian package installs, without documentation. Its scripts
// do not run.
func (l *layer) deb(file string) error {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := l.copy(tar.NewReader(out)); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", file, err), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", file, err, stderr.String())
	}
	return nil
}

func (l *layer) copy(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(path.Clean("/"+h.Name), "/usr/share/") {
			continue
		}
		if h.Typeflag == tar.TypeLink {
			h.Linkname = strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")
		}
		fresh, err := l.header(h)
		if err != nil {
			return err
		}
		if fresh && h.Typeflag == tar.TypeReg {
			if _, err := io.Copy(l.w, r); err != nil {
				return err
			}
		}
	}
}

// tree adds a folder from the machine, each file under the path that place
// returns for its own below the folder; an empty path leaves the file out.
func (l *layer) tree(from string, place func(path string) string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if name := place(rel); name != "" {
			return l.binary(name, file)
		}
		return nil
	})
}
