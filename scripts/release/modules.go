package main

import (
	"bytes"
	"debug/buildinfo"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// modules lists the modules of a program, as recorded by its linker.
func (r *release) modules(program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	self := component(cdx.ComponentTypeApplication, info.Main.Path, "v"+r.version)
	components := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, component(cdx.ComponentTypeLibrary, m.Path, m.Version))
	}
	all := make([]string, len(components))
	for i, c := range components {
		all[i] = c.BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &self}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &all}}
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

func component(kind cdx.ComponentType, path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cdx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
}
