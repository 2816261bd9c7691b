// Command sdkgen writes the generated parts of the client libraries in sdk/:
// a type for each schema and a method for each operation of api/openapi.json.
// The rest of the libraries is written by hand.
//
//	go -C tools run ./sdkgen -into ..
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	into := flag.String("into", ".", "the root of the repository")
	flag.Parse()

	if err := run(*into); err != nil {
		fmt.Fprintln(os.Stderr, "sdkgen:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "api", "openapi.json"))
	if err != nil {
		return err
	}
	document, err := read(text)
	if err != nil {
		return fmt.Errorf("api/openapi.json: %w", err)
	}

	typescript := filepath.Join(root, "sdk", "typescript", "src", "generated")
	python := filepath.Join(root, "sdk", "python", "src", "waybill")
	files := map[string]string{
		filepath.Join(typescript, "types.ts"):     typescriptTypes(document),
		filepath.Join(typescript, "resources.ts"): typescriptResources(document),
		filepath.Join(python, "inputs.py"):        pythonInputs(document),
		filepath.Join(python, "models.py"):        pythonModels(document),
		filepath.Join(python, "_resources.py"):    pythonResources(document, false),
		filepath.Join(python, "_aresources.py"):   pythonResources(document, true),
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
