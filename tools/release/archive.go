package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// documents are the files of the checkout that lie beside the program.
var documents = []string{
	"CHANGELOG.md",
	"LICENSE",
	"NOTICE",
	"README.md",
	"SECURITY.md",
	"api/openapi.yaml",
	"deploy",
	"docs",
}

// writeArchives packs the program with its documents, once for each platform.
func (r *release) writeArchives() error {
	for _, p := range platforms {
		name := fmt.Sprintf("waybill_%s_%s", r.number(), p)
		err := r.writeTar(name+".tar.gz", func(w *tar.Writer) error {
			if err := r.addFile(w, r.binary(p), path.Join(name, "waybill")); err != nil {
				return err
			}
			if err := r.addFile(w, r.licences(), path.Join(name, filepath.Base(r.licences()))); err != nil {
				return err
			}
			for _, document := range documents {
				if err := r.addTree(w, filepath.Join(r.source, document), path.Join(name, document)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeTar writes a file of the release. A name that ends in .gz is compressed.
func (r *release) writeTar(name string, fill func(*tar.Writer) error) (err error) {
	file, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	var target io.Writer = file
	if path.Ext(name) == ".gz" {
		zip, zipErr := gzip.NewWriterLevel(file, gzip.BestCompression)
		if zipErr != nil {
			return zipErr
		}
		defer func() { err = errors.Join(err, zip.Close()) }()
		target = zip
	}

	w := tar.NewWriter(target)
	if err := fill(w); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.Close()
}

// addTree adds a file, or the files of a directory in the order of their names.
func (r *release) addTree(w *tar.Writer, source, name string) error {
	return filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		return r.addFile(w, file, path.Join(name, filepath.ToSlash(inside)))
	})
}

// addFile adds a file with the time of the commit, without an owner. What can be
// executed by its owner can be executed by all: the umask of a checkout does not
// matter.
func (r *release) addFile(w *tar.Writer, source, name string) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}

	header := &tar.Header{
		Name:    name,
		Size:    info.Size(),
		Mode:    0o644,
		ModTime: r.time,
		Format:  tar.FormatPAX,
	}
	if info.Mode()&0o100 != 0 {
		header.Mode = 0o755
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return err
}
