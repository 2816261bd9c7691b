package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// modules are the modules that the programs of all platforms are built from,
// sorted by path. They are read from the programs themselves.
func (r *release) modules() ([]*debug.Module, error) {
	found := map[string]*debug.Module{}
	for _, p := range platforms {
		info, err := buildinfo.ReadFile(r.binary(p))
		if err != nil {
			return nil, err
		}
		for _, module := range info.Deps {
			if module.Replace != nil {
				return nil, fmt.Errorf("%s is replaced by %s: a release has no replaced modules", module.Path, module.Replace.Path)
			}
			found[module.Path] = module
		}
	}

	var list []*debug.Module
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list, nil
}

// licences is the staged file with the licences of those modules.
func (r *release) licences() string { return filepath.Join(r.stage, "THIRD_PARTY_LICENSES") }

// writeLicences collects the licence texts of all modules: most of them require
// that their text goes with the program.
func (r *release) writeLicences() error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	dirs, err := r.moduleDirs()
	if err != nil {
		return err
	}

	var text bytes.Buffer
	text.WriteString("Waybill contains the following modules. NOTICE names what else it contains.\n")
	for _, module := range modules {
		fmt.Fprintf(&text, "\n%s\n%s %s\n", strings.Repeat("=", 80), module.Path, module.Version)

		found := 0
		for _, pattern := range []string{"LICEN[CS]E*", "Licen[cs]e*", "licen[cs]e*", "COPYING*", "NOTICE*"} {
			files, err := filepath.Glob(filepath.Join(dirs[module.Path], pattern))
			if err != nil {
				return err
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				fmt.Fprintf(&text, "\n%s\n", bytes.TrimSpace(content))
				found++
			}
		}
		if found == 0 {
			return fmt.Errorf("module %s in %q has no licence file", module.Path, dirs[module.Path])
		}
	}
	return os.WriteFile(r.licences(), text.Bytes(), 0o644)
}

// moduleDirs tells where the sources of the modules are.
func (r *release) moduleDirs() (map[string]string, error) {
	list, err := r.command([]string{"GOFLAGS=-mod=readonly"}, "go", "list", "-m", "-json=Path,Dir", "all")
	if err != nil {
		return nil, err
	}

	dirs := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(list)); ; {
		var module struct{ Path, Dir string }
		err := decoder.Decode(&module)
		if errors.Is(err, io.EOF) {
			return dirs, nil
		}
		if err != nil {
			return nil, err
		}
		dirs[module.Path] = module.Dir
	}
}
