package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// A file is an entry of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// tree reads a file, or all files below a folder sorted by name, except those whose base name matches an ignored pattern.
// Their names in the archive begin with to instead of from.
func tree(from, to string, ignored []string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, pattern := range ignored {
			if match, err := path.Match(pattern, d.Name()); err != nil || match {
				return err
			}
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, name)
		files = append(files, file{name: path.Join(to, filepath.ToSlash(below)), mode: 0o644, data: data})
		return err
	})
	return files, err
}

// archive returns a compressed tar file that does not depend on who made it and when.
func (r *release) archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zipped)
	header := func(name string, mode int64, size int) error {
		return w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(size), ModTime: r.time, Format: tar.FormatUSTAR})
	}
	made := map[string]bool{".": true}
	// folder writes a folder and its parents: Helm creates only the folders that an archive names.
	var folder func(name string) error
	folder = func(name string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		return errors.Join(folder(path.Dir(name)), header(name+"/", 0o755, 0))
	}
	for _, f := range files {
		if err := errors.Join(folder(path.Dir(f.name)), header(f.name, f.mode, len(f.data))); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), zipped.Close())
	return out.Bytes(), err
}
