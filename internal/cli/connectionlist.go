package cli

import (
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
				list, err := listConnections(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(shownConnections(list))
				}

				table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "ID\tACCOUNT\tCARRIER\tNAME\tMODE\tFIELDS\tCHECKED\tSTATE")
				for _, connection := range list {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
						connection.ID,
						connection.Tenant.Account,
						connection.Carrier,
						connection.Name,
						modeName(connection.Tenant),
						formatFields(connection),
						formatChecked(connection),
						formatState(connection))
				}
				return table.Flush()
			})
		},
	}

	accountFlag(cmd, &id, allAccounts)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one connection per line")
	return cmd
}

// listConnections lists the connections of an account in both modes; without an
// id, of all accounts.
func listConnections(ctx context.Context, accounts *account.Service, id string) ([]account.Connection, error) {
	owners, err := accounts.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	if id != "" {
		owner, err := chooseAccount(ctx, accounts, id)
		if err != nil {
			return nil, err
		}
		owners = []ship.Account{owner}
	}

	var list []account.Connection
	for _, owner := range owners {
		for _, live := range []bool{true, false} {
			some, err := accounts.Connections(ctx, ship.Tenant{Account: owner.ID, Livemode: live})
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
	}
	return list, nil
}

func formatFields(connection account.Connection) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(connection.Fields)) {
		list = append(list, name+"="+connection.Fields[name])
	}
	return orDash(strings.Join(list, " "))
}

func formatChecked(connection account.Connection) string {
	switch {
	case connection.CheckedAt.IsZero():
		return "never"
	case account.Failed(connection.Findings):
		return formatDay(connection.CheckedAt) + " failed"
	}
	return formatDay(connection.CheckedAt) + " ok"
}

func formatState(connection account.Connection) string {
	switch {
	case connection.Problem != "":
		return connection.Problem
	case !connection.RemovedAt.IsZero():
		return "removed " + formatDay(connection.RemovedAt)
	case !connection.Enabled:
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
	for i, connection := range list {
		shown[i] = shownConnection{
			ID:        connection.ID,
			Account:   connection.Tenant.Account,
			Livemode:  connection.Tenant.Livemode,
			Carrier:   connection.Carrier,
			Name:      connection.Name,
			Fields:    connection.Fields,
			Enabled:   connection.Enabled,
			Problem:   connection.Problem,
			CreatedAt: connection.CreatedAt,
			CheckedAt: connection.CheckedAt,
			Findings:  connection.Findings,
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
		Short: "Test connections and explain how to fix problems",
		Long: "Test connections: whether the credentials can be decrypted, the carrier is reachable and accepts\n" +
			"them, the clocks agree, the account number is correct, the account has the permissions it needs,\n" +
			"and sandbox and live are not mixed up. Nothing is bought. The exit code is 1 if a check fails.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConnections(cmd.Context(), func(accounts *account.Service) error {
				list, err := selectConnections(cmd.Context(), accounts, id, args)
				if err != nil {
					return err
				}
				return c.checkAll(cmd.Context(), accounts, list, asJSON)
			})
		},
	}

	accountFlag(cmd, &id, allAccounts)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one connection per line")
	return cmd
}

// selectConnections returns the connections of the ids, or without ids those of
// the owner, or all. If owner is set, those of the ids must belong to it.
func selectConnections(ctx context.Context, accounts *account.Service, owner string, ids []string) ([]account.Connection, error) {
	if len(ids) == 0 {
		return listConnections(ctx, accounts, owner)
	}

	var list []account.Connection
	for _, text := range ids {
		id, err := parseConnectionID(text)
		if err != nil {
			return nil, err
		}
		found, err := accounts.FindConnection(ctx, id)
		if err != nil {
			return nil, err
		}
		if owner != "" && string(found.Tenant.Account) != owner {
			return nil, errOtherAccount(text, owner)
		}
		list = append(list, found)
	}
	return list, nil
}

func (c *cli) checkAll(ctx context.Context, accounts *account.Service, list []account.Connection, asJSON bool) error {
	if len(list) == 0 {
		return errors.New("there is no connection yet: create one with \"waybill connection add\"")
	}

	// One connection that fails does not keep the others from being checked.
	var failed error
	for i, connection := range list {
		found, err := accounts.CheckConnection(ctx, connection.Tenant, connection.ID)
		if err != nil {
			return err
		}
		if account.Failed(found) {
			failed = ErrUnhealthy
		}

		if asJSON {
			connection.Findings = found
			connection.CheckedAt = time.Now().UTC()
			if err := c.printJSON(shownConnections([]account.Connection{connection})); err != nil {
				return err
			}
			continue
		}

		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		fmt.Fprintf(c.Out, "%s %s %q (%s)\n", connection.ID, connection.Carrier, connection.Name, modeName(connection.Tenant))
		if err := c.printFindings(shownFindings(found)); err != nil && !errors.Is(err, ErrUnhealthy) {
			return err
		}
	}
	return failed
}

func shownFindings(list []account.Finding) []finding {
	shown := make([]finding, len(list))
	for i, f := range list {
		shown[i] = finding{
			level:   string(f.Level),
			subject: f.Subject,
			says:    f.Message,
			advice:  f.Advice,
		}
		if f.Level == account.LevelFail {
			shown[i].level = "FAIL"
		}
	}
	return shown
}
