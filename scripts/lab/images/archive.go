package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// An Image is imported into the container runtime as Name.
type Image struct {
	Name       string   // with registry and tag
	Entrypoint []string // may be empty
	Env        []string // NAME=VALUE
	Workdir    string
	User       string // uid:gid; empty means root
	fill       func(*layer) error
}

// write writes the image, with one layer, to an archive for a container runtime.
// The file appears only when it is complete.
func (i Image) write(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	content, err := os.CreateTemp(filepath.Dir(file), "layer-*")
	if err != nil {
		return err
	}
	defer os.Remove(content.Name())
	defer content.Close()
	sum := sha256.New()
	l := newLayer(io.MultiWriter(content, sum))
	if err := i.fill(l); err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	if err := l.w.Close(); err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	part := file + ".part"
	if err := i.pack(part, content, hex.EncodeToString(sum.Sum(nil))); err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	return os.Rename(part, file)
}

// pack writes configuration, manifest and layer in docker's archive form.
func (i Image) pack(file string, content *os.File, digest string) error {
	config, manifest, err := i.describe(digest)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	size, err := content.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w := tar.NewWriter(out)
	for _, m := range []struct {
		name string
		size int64
		r    io.Reader
	}{
		{configName(config), int64(len(config)), bytes.NewReader(config)},
		{"manifest.json", int64(len(manifest)), bytes.NewReader(manifest)},
		{digest + ".tar", size, content},
	} {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: 0o644, Size: m.size}); err != nil {
			return err
		}
		if _, err := io.Copy(w, m.r); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}

// describe gives the image's configuration and the archive's manifest.
func (i Image) describe(digest string) (config, manifest []byte, err error) {
	config, err = json.Marshal(map[string]any{
		"architecture": "amd64",
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": i.Entrypoint, "Env": i.Env, "WorkingDir": i.Workdir, "User": i.User},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
	})
	if err != nil {
		return nil, nil, err
	}
	manifest, err = json.Marshal([]map[string]any{{
		"Config": configName(config), "RepoTags": []string{i.Name}, "Layers": []string{digest + ".tar"},
	}})
	return config, manifest, err
}

func configName(config []byte) string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:]) + ".json"
}
