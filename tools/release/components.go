package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// embedded are the parts of others that lie in the source and not in a module.
// NOTICE names them too.
var embedded = []struct {
	name    string
	version string
	kind    cdx.ComponentType
	licence string
	file    string
}{
	{"htmx.org", "2.0.11", cdx.ComponentTypeLibrary, "0BSD", "internal/web/site/static/htmx.js"},
	{"pdfium", "7776", cdx.ComponentTypeLibrary, "BSD-3-Clause", "internal/pdfium/pdfium.wasm.gz"},
	{"noto-sans", "", cdx.ComponentTypeData, "OFL-1.1", "internal/label/fonts/NotoSans-Regular.ttf.gz"},
}

// writeComponents writes the list of everything that the programs contain. It has
// neither a serial number nor a time of its own, which would differ in every run.
func (r *release) writeComponents() (err error) {
	modules, err := r.modules()
	if err != nil {
		return err
	}

	product := cdx.Component{
		BOMRef:     "waybill",
		Type:       cdx.ComponentTypeApplication,
		Name:       "github.com/waybillhq/waybill",
		Version:    r.version,
		PackageURL: "pkg:golang/github.com/waybillhq/waybill@" + r.version,
		Licenses:   licence("Apache-2.0"),
	}
	standard := "v" + strings.TrimPrefix(runtime.Version(), "go")
	components := []cdx.Component{{
		BOMRef:     "std",
		Type:       cdx.ComponentTypeLibrary,
		Name:       "std",
		Version:    standard,
		PackageURL: "pkg:golang/std@" + standard,
		Licenses:   licence("BSD-3-Clause"),
	}}
	for _, module := range modules {
		hash, err := moduleHash(module.Sum)
		if err != nil {
			return fmt.Errorf("%s: %w", module.Path, err)
		}
		url := "pkg:golang/" + module.Path + "@" + module.Version
		components = append(components, cdx.Component{
			BOMRef:     url,
			Type:       cdx.ComponentTypeLibrary,
			Name:       module.Path,
			Version:    module.Version,
			PackageURL: url,
			Hashes:     &[]cdx.Hash{hash},
		})
	}
	for _, part := range embedded {
		content, err := os.ReadFile(filepath.Join(r.source, part.file))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		components = append(components, cdx.Component{
			BOMRef:   part.name,
			Type:     part.kind,
			Name:     part.name,
			Version:  part.version,
			Licenses: licence(part.licence),
			Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		})
	}

	var contained []string
	for _, component := range components {
		contained = append(contained, component.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &product,
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: product.BOMRef, Dependencies: &contained}}

	file, err := os.Create(filepath.Join(r.out, fmt.Sprintf("waybill_%s_sbom.cdx.json", r.number())))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

func licence(id string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}

// moduleHash is the sum of go.sum, a SHA-256 in another spelling.
func moduleHash(sum string) (cdx.Hash, error) {
	encoded, found := strings.CutPrefix(sum, "h1:")
	if !found {
		return cdx.Hash{}, fmt.Errorf("sum %q: want h1:", sum)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	return cdx.Hash{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}, err
}
