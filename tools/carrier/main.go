// Command carrier writes the skeleton of a carrier's driver: a folder that
// compiles, and whose tests list what is still missing.
//
//	go -C tools run ./carrier -name acme -title "Acme Parcel" -into ..
package main

import (
	"bytes"
	"embed"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed skeleton/*.tmpl
var skeleton embed.FS

// names are what the templates are filled with.
type names struct {
	Name    string // "acme_parcel": in the API, stored, never changes
	Package string // "acmeparcel"
	Title   string // "Acme Parcel": on pages
}

func main() {
	name := flag.String("name", "", "the carrier's name in the API: lower-case letters, digits and underscores")
	title := flag.String("title", "", "what people call the carrier; the name if empty")
	into := flag.String("into", ".", "the root of the repository")
	flag.Parse()

	if err := run(*name, *title, *into); err != nil {
		fmt.Fprintln(os.Stderr, "carrier:", err)
		os.Exit(1)
	}
}

func run(name, title, root string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(name) {
		return fmt.Errorf("the name %q must be lower-case letters, digits and underscores, such as acme_parcel", name)
	}
	filled := names{
		Name:    name,
		Package: strings.ReplaceAll(name, "_", ""),
		Title:   title,
	}
	if filled.Title == "" {
		filled.Title = name
	}

	folder := filepath.Join(root, "internal", "carrier", filled.Package)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("%s: is there a carrier of that name already? %w", folder, err)
	}
	if err := write(folder, filled); err != nil {
		return err
	}

	fmt.Printf(`internal/carrier/%[1]s is written. Next:

  1. go test ./internal/carrier/%[1]s      lists what is missing
  2. add %[1]s.Spec to internal/carrier/all/all.go
  3. docs/adding-a-carrier.md explains each file, the emulator and the documents
`, filled.Package)
	return nil
}

// write fills the templates into a folder. A template's name is that of its
// file.
func write(folder string, filled names) error {
	files, err := skeleton.ReadDir("skeleton")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := template.ParseFS(skeleton, "skeleton/"+file.Name())
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := text.Execute(&out, filled); err != nil {
			return err
		}

		content := out.Bytes()
		name := strings.TrimSuffix(file.Name(), ".tmpl")
		if filepath.Ext(name) == ".go" {
			if content, err = format.Source(content); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
