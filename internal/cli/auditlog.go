package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
)

func (c *cli) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Verify, stream and prune the audit log",
		Args:  requireSubcommand,
		RunE:  showHelp,
	}
	cmd.AddCommand(c.auditVerifyCommand(), c.auditStreamCommand(), c.auditPruneCommand())
	return cmd
}

// withStore runs fn on a migrated database.
func (c *cli) withStore(ctx context.Context, fn func(*store.Store) error) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	state, err := store.InspectSchema(ctx, cfg.DatabaseURL)
	if err == nil {
		err = state.NeedsMigration()
	}
	if err != nil {
		return err
	}

	st, err := store.Open(ctx, store.Options{URL: cfg.DatabaseURL, Connections: 2})
	if err != nil {
		return err
	}
	defer st.Close()
	return fn(st)
}

func (c *cli) auditVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that no entry of the audit log was changed or removed",
		Long: "Compute the chain of hashes over each account's audit log again. It prints the first entry of\n" +
			"each account that was changed, removed or moved, and the exit code is 1 if there is one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(st *store.Store) error {
				found, err := st.VerifyAudit(cmd.Context(), time.Now())
				if err != nil {
					return err
				}
				return c.printVerification(found)
			})
		},
	}
}

func (c *cli) printVerification(found store.AuditVerification) error {
	for _, broken := range found.Breaks {
		fmt.Fprintf(c.Out, "broken: account %s, number %d, entry %s: %s\n", orNone(string(broken.Account)), broken.Number, orNone(string(broken.Entry)), broken.Reason)
	}
	fmt.Fprintf(c.Out, "%d entries of %d accounts, %d not chained yet, %d broken\n", found.Entries, found.Accounts, found.Pending, len(found.Breaks))

	if len(found.Breaks) > 0 {
		return ErrUnhealthy
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// How an audit stream reads.
const (
	streamPart  = 500
	streamPause = time.Second
)

func (c *cli) auditStreamCommand() *cobra.Command {
	var name, target string
	var follow bool
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Send the audit log of all accounts elsewhere",
		Long: "Print the entries of all accounts that this stream has not sent yet, one JSON object a line, oldest\n" +
			"first; or POST them to a URL, up to 500 lines at a time, as application/x-ndjson. How far a stream\n" +
			"has come is stored in the database under its name, after the lines were written or the URL has\n" +
			"answered 2xx: every entry is sent at least once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			send := c.printLines
			if target != "" {
				send = webhook.LineSender(target)
			}
			return c.withStore(cmd.Context(), func(st *store.Store) error {
				return streamAudit(cmd.Context(), st, name, follow, send)
			})
		},
	}

	cmd.Flags().StringVar(&name, "name", "default", "name of the stream, which keeps its own position")
	cmd.Flags().StringVar(&target, "to", "", "URL that receives the entries (default: standard output)")
	cmd.Flags().BoolVar(&follow, "follow", false, "wait for further entries until it is stopped")
	return cmd
}

// streamAudit sends what the stream has not received; with follow, until ctx ends.
func streamAudit(ctx context.Context, st *store.Store, name string, follow bool, send func(context.Context, []byte) error) error {
	for {
		entries, err := st.StreamedAudit(ctx, name, streamPart)
		if err != nil {
			return err
		}

		if len(entries) == 0 {
			if !follow {
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(streamPause):
			}
			continue
		}

		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		for _, entry := range entries {
			if err := encoder.Encode(entry); err != nil {
				return err
			}
		}

		// The position is saved after the lines have arrived: a crash in between
		// sends them again, and never loses one.
		if err := send(ctx, lines.Bytes()); err != nil {
			return err
		}
		if err := st.SaveStream(ctx, name, entries[len(entries)-1].Position); err != nil {
			return err
		}
	}
}

func (c *cli) printLines(_ context.Context, lines []byte) error {
	_, err := c.Out.Write(lines)
	return err
}

func (c *cli) auditPruneCommand() *cobra.Command {
	var before string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Drop old entries of the audit log",
		Long: "Drop the entries of all accounts from before a day. The number and the hash of the last one that is\n" +
			"dropped are kept, so the rest can still be verified. It connects like \"waybill migrate\": the login\n" +
			"that serves cannot delete entries.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			day, err := time.Parse(time.DateOnly, before)
			if err != nil || day.After(time.Now()) {
				return ship.Errorf(ship.Invalid, "--before must be a day in the past, such as 2026-01-31")
			}
			address, err := c.migrationURL()
			if err != nil {
				return err
			}
			dropped, err := store.PruneAudit(cmd.Context(), address, day)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Err, "dropped %d entries from before %s\n", dropped, before)
			return nil
		},
	}

	cmd.Flags().StringVar(&before, "before", "", "first day that is kept (UTC), such as 2026-01-31; required")
	return cmd
}
