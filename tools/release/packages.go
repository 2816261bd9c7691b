package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes the .deb and .rpm files that deploy/packages/nfpm.yaml
// describes.
func (r *release) writePackages() error {
	if err := r.writeUnit(); err != nil {
		return err
	}

	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.writePackage(p, format); err != nil {
				return fmt.Errorf("%s for %s: %w", format, p, err)
			}
		}
	}
	return nil
}

// writeUnit stages the systemd unit of a package, whose program is in /usr/bin.
// The unit of the checkout is for a program that was copied to /usr/local/bin.
func (r *release) writeUnit() error {
	unit, err := os.ReadFile(filepath.Join(r.source, "deploy", "waybill.service"))
	if err != nil {
		return err
	}
	packaged := strings.NewReplacer(
		"/usr/local/bin", "/usr/bin",
		"/etc/systemd/system", "/usr/lib/systemd/system",
		"deploy/init-database.sh", "/usr/share/waybill/init-database.sh",
	).Replace(string(unit))
	return os.WriteFile(filepath.Join(r.stage, "waybill.service"), []byte(packaged), 0o644)
}

func (r *release) writePackage(p platform, format string) (err error) {
	values := map[string]string{
		"ARCH":    p.arch,
		"VERSION": r.version,
		"SOURCE":  r.source,
		"STAGE":   r.stage,
		"BINARY":  r.binary(p),
	}
	config, err := nfpm.ParseFileWithEnvMapping(
		filepath.Join(r.source, "deploy", "packages", "nfpm.yaml"),
		func(name string) string { return values[name] },
	)
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	// These paths are not expanded by nfpm.
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = filepath.Join(r.source, "deploy", "packages", *script)
	}

	info = nfpm.WithDefaults(info)
	info.MTime = r.time
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}

	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	name := packager.ConventionalFileName(info)
	file, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return packager.Package(info, file)
}
