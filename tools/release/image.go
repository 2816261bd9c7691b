package main

import (
	"archive/tar"
	"fmt"
	"path/filepath"
	"strings"
)

// writeImage packs the container image for all Linux platforms, an OCI image
// layout, into one file: what tools call an OCI archive.
func (r *release) writeImage() error {
	roots := filepath.Join(r.stage, "image")
	var architectures []string
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		architectures = append(architectures, p.arch)
		if _, err := r.command(nil, "scripts/image-root", r.binary(p), filepath.Join(roots, p.arch)); err != nil {
			return err
		}
	}

	layout := filepath.Join(r.stage, "layout")
	_, err := r.command([]string{"GOFLAGS=-mod=readonly"}, "go", "-C", "tools", "run", "./image",
		"-dockerfile", filepath.Join(r.source, "Dockerfile"),
		"-from", "build="+roots,
		"-arch", strings.Join(architectures, ","),
		"-label", "org.opencontainers.image.version="+r.version,
		"-label", "org.opencontainers.image.revision="+r.revision,
		"-label", "org.opencontainers.image.licenses=Apache-2.0",
		"-out", layout)
	if err != nil {
		return err
	}

	return r.writeTar(fmt.Sprintf("waybill_%s_image.tar", r.number()), func(w *tar.Writer) error {
		return r.addTree(w, layout, "")
	})
}
