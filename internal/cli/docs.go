package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/api"
)

func (c *cli) docsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "The documentation of this version",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(c.docsExportCommand())
	return cmd
}

func (c *cli) docsExportCommand() *cobra.Command {
	var baseURL string
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the documentation as a static site",
		Long: "Write the pages that the service has under /docs into a directory: guides, API reference, errors,\n" +
			"changelog and search. The links are relative, so any web server can serve the directory, and a\n" +
			"browser can open its index.html without one. Files of earlier exports that are no longer part of the\n" +
			"documentation stay: use an empty directory.",
		Example: "  waybill docs export site\n  waybill docs export --base-url https://ship.example.com site",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := api.Documentation(baseURL)
			if err != nil {
				return err
			}

			for _, name := range slices.Sorted(maps.Keys(files)) {
				path := filepath.Join(args[0], filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(path, files[name], 0o644); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(c.Out, "%d files are in %s; start with %s\n", len(files), args[0], filepath.Join(args[0], "index.html"))
			return err
		},
	}
	cmd.Flags().StringVar(&baseURL, "base-url", "", "address of the service in the examples of the API reference")
	return cmd
}
