// Package chart embeds the Helm chart.
package chart

import (
	"embed"
	"io/fs"
	"os"
)

//go:embed Chart.yaml values.yaml values.schema.json .helmignore all:templates all:files
var embedded embed.FS

// FS is the embedded chart.
func FS() fs.FS { return embedded }

// Dir is a chart in a folder, to be used instead of the embedded one.
func Dir(path string) fs.FS { return os.DirFS(path) }
