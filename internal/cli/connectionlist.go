package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) connectionListCommand() *cobra.Command {
	var (
		id     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list [--account ID]",
		Short: "List connections, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				list, err := connectionsOf(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(shownConnections(list))
				}
				w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "ID\tACCOUNT\tCARRIER\tNAME\tMODE\tFIELDS\tCHECKED\tSTATE")
				for _, n := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, n.Tenant.Account, n.Carrier, n.Name, modeOf(n.Tenant), fieldsOf(n), checkedOf(n), stateOf(n))
				}
				return w.Flush()
			})
		},
	}
	accountFlag(cmd, &id, allAccounts)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one connection a line")
	return cmd
}

// connectionsOf lists the connections of an account in both modes; without an
// id, of all accounts.
func connectionsOf(ctx context.Context, accounts *account.Service, id string) ([]account.Connection, error) {
	of, err := accounts.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	if id != "" {
		a, err := chosen(ctx, accounts, id)
		if err != nil {
			return nil, err
		}
		of = []ship.Account{a}
	}
	var list []account.Connection
	for _, a := range of {
		for _, live := range []bool{true, false} {
			some, err := accounts.Connections(ctx, ship.Tenant{Account: a.ID, Livemode: live})
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
	}
	return list, nil
}

func fieldsOf(n account.Connection) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		list = append(list, name+"="+n.Fields[name])
	}
	return orDash(strings.Join(list, " "))
}

func checkedOf(n account.Connection) string {
	switch {
	case n.CheckedAt.IsZero():
		return "never"
	case account.Failed(n.Findings):
		return day(n.CheckedAt) + " failed"
	}
	return day(n.CheckedAt) + " ok"
}

func stateOf(n account.Connection) string {
	switch {
	case n.Problem != "":
		return n.Problem
	case !n.RemovedAt.IsZero():
		return "removed " + day(n.RemovedAt)
	case !n.Enabled:
		return "disabled"
	}
	return "active"
}

type shownConnection struct {
	ID        ship.ConnectionID `json:"id"`
	Account   ship.AccountID    `json:"account"`
	Livemode  bool              `json:"livemode"`
	Carrier   string            `json:"carrier"`
	Name      string            `json:"name"`
	Fields    map[string]string `json:"fields"`
	Enabled   bool              `json:"enabled"`
	Problem   string            `json:"problem,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	CheckedAt time.Time         `json:"checkedAt,omitzero"`
	Findings  []account.Finding `json:"findings,omitempty"`
}

func shownConnections(list []account.Connection) []any {
	shown := make([]any, len(list))
	for i, n := range list {
		shown[i] = shownConnection{
			ID: n.ID, Account: n.Tenant.Account, Livemode: n.Tenant.Livemode, Carrier: n.Carrier, Name: n.Name, Fields: n.Fields, Enabled: n.Enabled,
			Problem: n.Problem, CreatedAt: n.CreatedAt, CheckedAt: n.CheckedAt, Findings: n.Findings,
		}
	}
	return shown
}

func (c *cli) connectionCheckCommand() *cobra.Command {
	var (
		id     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "check [CONNECTION_ID...]",
		Short: "Try connections, and say what is wrong and what to do about it",
		Long: "Try connections: whether the credentials can be decrypted and the carrier be reached and accepts\n" +
			"them, whether the clocks agree, the account number is right, the account may do what it needs to,\n" +
			"and whether sandbox and live are mixed up. It buys nothing. The exit code is 1 if something fails.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				list, err := named(cmd.Context(), accounts, id, args)
				if err != nil {
					return err
				}
				return c.checkAll(cmd.Context(), accounts, list, asJSON)
			})
		},
	}
	accountFlag(cmd, &id, allAccounts)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one connection a line")
	return cmd
}

// named are the connections of the ids, or those of the account, or all. Those
// of ids are the account's if there is one.
func named(ctx context.Context, accounts *account.Service, of string, ids []string) ([]account.Connection, error) {
	if len(ids) == 0 {
		return connectionsOf(ctx, accounts, of)
	}
	var list []account.Connection
	for _, text := range ids {
		id, err := connectionID(text)
		if err != nil {
			return nil, err
		}
		found, err := accounts.FindConnection(ctx, id)
		if err != nil {
			return nil, err
		}
		if of != "" && string(found.Tenant.Account) != of {
			return nil, notOf(text, of)
		}
		list = append(list, found)
	}
	return list, nil
}

func (c *cli) checkAll(ctx context.Context, accounts *account.Service, list []account.Connection, asJSON bool) error {
	if len(list) == 0 {
		return errors.New("there is no connection yet: make one with \"waybill connection add\"")
	}
	var failed error
	for i, n := range list {
		found, err := accounts.CheckConnection(ctx, n.Tenant, n.ID)
		if err != nil {
			return err
		}
		if asJSON {
			n.Findings, n.CheckedAt = found, time.Now().UTC()
			if err := c.printJSON(shownConnections([]account.Connection{n})); err != nil {
				return err
			}
			if account.Failed(found) {
				failed = ErrUnhealthy
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		fmt.Fprintf(c.Out, "%s %s %q (%s)\n", n.ID, n.Carrier, n.Name, modeOf(n.Tenant))
		if err := c.printFindings(findingsOf(found)); err != nil && !errors.Is(err, ErrUnhealthy) {
			return err
		} else {
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

func findingsOf(list []account.Finding) []finding {
	out := make([]finding, len(list))
	for i, f := range list {
		out[i] = finding{level: string(f.Level), subject: f.Subject, says: f.Says, advice: f.Advice}
		if f.Level == account.LevelFail {
			out[i].level = "FAIL"
		}
	}
	return out
}
