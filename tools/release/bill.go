package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// bill writes the modules of a system's program as CycloneDX: kindred-VERSION-OS-ARCH.cdx.json.
func (r *release) bill(b build) error {
	content, err := materials(b, r.source.when)
	if err != nil {
		return err
	}
	return r.write(r.archiveName(b.system)+".cdx.json", content)
}

// materials lists the program, and Go and the modules that it is linked from, which the Go tool
// wrote into it. The document's number depends only on the program.
func materials(b build, when time.Time) ([]byte, error) {
	digest := sha256.Sum256(b.binary)
	doc := cyclonedx.NewBOM()
	doc.SerialNumber = uuid.NewSHA1(uuid.NameSpaceOID, digest[:]).URN()
	program := component(cyclonedx.ComponentTypeApplication, &b.info.Main)
	program.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}}
	var settings []cyclonedx.Property
	for _, s := range b.info.Settings {
		settings = append(settings, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	program.Properties = &settings
	doc.Metadata = &cyclonedx.Metadata{Timestamp: when.Format(time.RFC3339), Component: &program}
	parts := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary,
		&debug.Module{Path: "std", Version: strings.TrimPrefix(b.info.GoVersion, "go")})}
	for _, m := range b.info.Deps {
		c := component(cyclonedx.ComponentTypeLibrary, m)
		if h, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			sum, err := base64.StdEncoding.DecodeString(h)
			if err != nil {
				return nil, fmt.Errorf("module %s: its checksum %q: %w", m.Path, m.Sum, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		parts = append(parts, c)
	}
	doc.Components = &parts
	// The program does not have the modules' dependencies, so all are listed under it.
	var refs []string
	for _, c := range parts {
		refs = append(refs, c.BOMRef)
	}
	doc.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	var text bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(doc)
	return text.Bytes(), err
}

// component describes a module.
func component(kind cyclonedx.ComponentType, m *debug.Module) cyclonedx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: m.Path, Version: m.Version, PackageURL: url}
}
