package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// source is a file that was given by name.
type source struct {
	name string // as in messages
	text []byte
}

// readFile reads the file; - is standard input. It reads up to one byte over
// the limit: whoever parses the text rejects one that is too long.
func (c *cli) readFile(path string, limit int64) (source, error) {
	file := source{name: path}
	from := c.In
	if path == "-" {
		file.name = "standard input"
	} else {
		opened, err := os.Open(path)
		if err != nil {
			return file, err
		}
		defer func() { _ = opened.Close() }()
		from = opened
	}
	if from == nil {
		return file, errors.New("there is no standard input")
	}

	var err error
	file.text, err = io.ReadAll(io.LimitReader(from, limit+1))
	return file, err
}

// readBook reads rules. What is invalid is printed to w, and the error is then
// ErrUnhealthy.
func (c *cli) readBook(path string, w io.Writer) (source, routing.Book, error) {
	file, err := c.readFile(path, routing.MaxBook)
	if err != nil {
		return file, routing.Book{}, err
	}
	book, err := routing.ParseBook(file.text)
	return file, book, file.explain(w, err)
}

func (c *cli) routingCheckCommand() *cobra.Command {
	var (
		whose   tenantFlags
		offline bool
	)
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Report the errors in a rules file",
		Long: "Report the errors in a rules file, with line and column; - reads standard input. Nothing is stored.\n" +
			"The exit code is 1 if there are errors. With --offline no database is needed, and the existence of\n" +
			"carriers, services and connections is not checked.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, book, err := c.readBook(args[0], c.Out)
			if err != nil {
				return err
			}

			// Only the database knows the account's carriers and connections.
			if offline {
				_, err := routing.Compile(book)
				return c.printCheck(file, book, nil, err)
			}

			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				warnings, err := p.Check(cmd.Context(), p.tenant, book)
				return c.printCheck(file, book, warnings, err)
			})
		},
	}

	whose.add(cmd)
	cmd.Flags().BoolVar(&offline, "offline", false, "check without a database")
	return cmd
}

// printCheck prints what a check found.
func (c *cli) printCheck(file source, book routing.Book, warnings []string, err error) error {
	if err := file.explain(c.Out, err); err != nil {
		return err
	}
	for _, warning := range warnings {
		fmt.Fprintf(c.Out, "%s: warning: %s\n", file.name, warning)
	}
	_, err = fmt.Fprintf(c.Out, "%s: %s, no errors\n", file.name, pluralize(len(book.Rules), "rule"))
	return err
}

func (c *cli) routingDraftCommand() *cobra.Command {
	var whose tenantFlags
	cmd := &cobra.Command{
		Use:   "draft FILE",
		Short: "Save a rules file as the draft, replacing the previous draft",
		Long: "Save a rules file as the draft, replacing the previous draft; - reads standard input. The draft\n" +
			"does not affect purchases. Only rules without errors are saved.",
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, book, err := c.readBook(args[0], c.Err)
			if err != nil {
				return err
			}

			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				draft, err := p.SaveDraft(cmd.Context(), p.tenant, book)
				if err := file.explain(c.Err, err); err != nil {
					return err
				}
				c.printWarnings(draft.Warnings)
				fmt.Fprintf(c.Err, "the draft of %s (%s) has %s; publish it with \"waybill routing publish\"\n", p.account.Name, modeName(p.tenant), pluralize(len(book.Rules), "rule"))
				return nil
			})
		},
	}

	whose.add(cmd)
	return cmd
}

func (c *cli) routingDiscardCommand() *cobra.Command {
	var whose tenantFlags
	cmd := &cobra.Command{
		Use:   "discard",
		Short: "Delete the draft",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				if err := p.DropDraft(cmd.Context(), p.tenant); err != nil {
					return err
				}
				fmt.Fprintln(c.Err, "the draft was deleted; published rules are unchanged")
				return nil
			})
		},
	}

	whose.add(cmd)
	return cmd
}

func (c *cli) routingPublishCommand() *cobra.Command {
	var (
		whose tenantFlags
		in    rulebook.PublishInput
	)
	cmd := &cobra.Command{
		Use:   "publish [--note TEXT]",
		Short: "Publish the draft and print its version",
		Long: "Publish the draft, effective from the next purchase, and print its version. It fails if other rules\n" +
			"have been published since the draft was saved.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPolicy(cmd.Context(), whose, func(p policy) error {
				in.Tenant = p.tenant
				published, err := p.Publish(cmd.Context(), in)
				if ship.CodeOf(err) == "draft_not_found" {
					return errors.New("there is no draft: save one with \"waybill routing draft FILE\"")
				}
				if err != nil {
					return err
				}

				c.printWarnings(published.Warnings)
				fmt.Fprintf(c.Err, "version %d of %s (%s) is now active; running copies apply it within two seconds\n", published.Version, p.account.Name, modeName(p.tenant))
				_, err = fmt.Fprintln(c.Out, published.Version)
				return err
			})
		},
	}

	whose.add(cmd)
	cmd.Flags().StringVar(&in.Note, "note", "", "summary of the change, shown in the history")
	return cmd
}
