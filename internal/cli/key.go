package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *cli) keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Create, list and revoke API keys", Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(c.keyCreateCommand(), c.keyListCommand(), c.keyRevokeCommand())
	return cmd
}

func (c *cli) keyCreateCommand() *cobra.Command {
	var (
		id, expires string
		networks    []string
		in          account.NewKeyInput
	)
	cmd := &cobra.Command{
		Use:   "create [--account ID]",
		Short: "Create a key and print it once",
		Long:  "Create a key and print only the key on standard output. It is not shown again: only its hash is stored.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if in.ExpiresAt, err = parseExpiry(expires, time.Now()); err != nil {
				return err
			}
			if in.Networks, err = parseNetworks(networks); err != nil {
				return err
			}

			return c.withAccounts(cmd.Context(), func(accounts *account.Service) error {
				owner, err := chooseAccount(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}

				in.Account = owner.ID
				key, created, err := accounts.NewKey(cmd.Context(), in)
				if err != nil {
					return err
				}

				// Standard output has the key alone, for scripts.
				fmt.Fprintf(c.Err, "%s for %s (%s)\n", created.ID, owner.Name, owner.ID)
				_, err = fmt.Fprintln(c.Out, key)
				return err
			})
		},
	}

	flags := cmd.Flags()
	accountFlag(cmd, &id, oneAccount)
	flags.BoolVar(&in.Livemode, "live", false, "create a live key (default: a test key for the sandbox)")
	flags.StringVar(&in.Name, "name", "", "name of the key, such as what it is used for")
	flags.StringSliceVar(&in.Scopes, "scopes", nil, "scopes of the key, comma-separated (default: all): "+strings.Join(account.Scopes, " "))
	flags.StringVar(&expires, "expires", "", "when it expires: 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
	flags.StringVar(&in.DailyLimit, "daily-limit", "", "maximum spend of a live key on labels per UTC day, in the account's currency, such as 500 (default: no limit)")
	flags.StringVar(&in.MaxPerPurchase, "max-per-purchase", "", "maximum price of one label of a live key, in the account's currency, such as 40 (default: no limit)")
	flags.StringVar(&in.ApprovalAbove, "approval-above", "", "price of a live label above which a person must approve the purchase in the dashboard, such as 25; 0 for every purchase (default: never)")
	flags.StringSliceVar(&in.AllowedCountries, "allowed-countries", nil, "countries it may ship to, as ISO codes, comma-separated, such as US,CA (default: all)")
	flags.StringSliceVar(&networks, "network", nil, "networks it may be used from, such as 203.0.113.0/24 (default: all)")
	return cmd
}

// parseNetworks reads networks. An address alone is a network of one.
func parseNetworks(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
			list = append(list, netip.PrefixFrom(address, address.BitLen()))
			continue
		}

		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--network %s is not a network such as 203.0.113.0/24", text)
		}
		list = append(list, network.Masked())
	}
	return list, nil
}

// parseExpiry reads when a key expires: after a number of days or a duration,
// at the end of a day in UTC, or at a time. Empty is never.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	// time.ParseDuration knows no days.
	var at time.Time
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			at = now.AddDate(0, 0, n)
		}
	} else if wait, err := time.ParseDuration(text); err == nil {
		at = now.Add(wait)
	} else if day, err := time.Parse(time.DateOnly, text); err == nil {
		at = day.AddDate(0, 0, 1)
	} else if moment, err := time.Parse(time.RFC3339, text); err == nil {
		at = moment
	}

	switch {
	case at.IsZero():
		return at, errors.New("--expires must be a duration such as 90d or 12h, or a date such as 2027-01-31 or 2027-01-31T12:00:00Z")
	case !at.After(now):
		return at, errors.New("--expires is in the past")
	}
	return at.UTC(), nil
}

func (c *cli) keyListCommand() *cobra.Command {
	var (
		id     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list [--account ID]",
		Short: "List the keys of an account, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAccounts(cmd.Context(), func(accounts *account.Service) error {
				owner, err := chooseAccount(cmd.Context(), accounts, id)
				if err != nil {
					return err
				}
				keys, err := accounts.Keys(cmd.Context(), owner.ID)
				if err != nil {
					return err
				}

				if asJSON {
					return c.printJSON(shownKeys(keys))
				}
				return c.printKeys(keys)
			})
		},
	}

	accountFlag(cmd, &id, oneAccount)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one key per line")
	return cmd
}

func (c *cli) printKeys(keys []account.APIKey) error {
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tKEY\tNAME\tSCOPES\tLIMITS\tCREATED\tLAST USED\tSTATE")
	for _, key := range keys {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			key.ID,
			key.Hint,
			orDash(key.Name),
			strings.Join(key.Scopes, ","),
			orDash(limitsText(key.Limits)),
			formatDay(key.CreatedAt),
			formatDay(key.LastUsedAt),
			keyState(key, time.Now()))
	}
	return table.Flush()
}

// limitsText describes what a key may buy; empty for everything.
func limitsText(limits ship.SpendingLimits) string {
	var words []string
	if !limits.Daily.IsZero() {
		words = append(words, limits.Daily.String()+" a day")
	}
	if !limits.PerPurchase.IsZero() {
		words = append(words, limits.PerPurchase.String()+" a label")
	}
	if !limits.ApprovalAbove.IsZero() {
		words = append(words, "approval above "+limits.ApprovalAbove.String())
	}
	if len(limits.Countries) > 0 {
		words = append(words, "to "+strings.Join(limits.Countries, " "))
	}
	return strings.Join(words, ", ")
}

func keyState(key account.APIKey, now time.Time) string {
	switch {
	case !key.RevokedAt.IsZero():
		return "revoked " + formatDay(key.RevokedAt)
	case key.ExpiresAt.IsZero():
		return "active"
	case key.ExpiresAt.Before(now):
		return "expired " + formatDay(key.ExpiresAt)
	}
	return "active until " + key.ExpiresAt.UTC().Format("2006-01-02 15:04Z")
}

func formatDay(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.DateOnly)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

type shownKey struct {
	ID         ship.KeyID     `json:"id"`
	Account    ship.AccountID `json:"account"`
	Livemode   bool           `json:"livemode"`
	Hint       string         `json:"hint"`
	Name       string         `json:"name"`
	Scopes     []string       `json:"scopes"`
	Networks   []netip.Prefix `json:"networks,omitempty"`
	DailyLimit string         `json:"dailyLimit,omitempty"`

	MaxPerPurchase   string   `json:"maxPerPurchase,omitempty"`
	ApprovalAbove    string   `json:"approvalAbove,omitempty"`
	AllowedCountries []string `json:"allowedCountries,omitempty"`

	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
	RevokedAt  time.Time `json:"revokedAt,omitzero"`
}

func shownKeys(keys []account.APIKey) []any {
	shown := make([]any, len(keys))
	for i, key := range keys {
		shown[i] = shownKey{
			ID:         key.ID,
			Account:    key.Tenant.Account,
			Livemode:   key.Tenant.Livemode,
			Hint:       key.Hint,
			Name:       key.Name,
			Scopes:     key.Scopes,
			Networks:   key.Networks,
			DailyLimit: key.Limits.Daily.String(),

			MaxPerPurchase:   key.Limits.PerPurchase.String(),
			ApprovalAbove:    key.Limits.ApprovalAbove.String(),
			AllowedCountries: key.Limits.Countries,

			CreatedAt:  key.CreatedAt,
			ExpiresAt:  key.ExpiresAt,
			LastUsedAt: key.LastUsedAt,
			RevokedAt:  key.RevokedAt,
		}
	}
	return shown
}

func (c *cli) keyRevokeCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use:   "revoke KEY_ID [--account ID]",
		Short: "Revoke a key permanently",
		Args:  oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, ok := ship.ParseKeyID(args[0])
			if !ok {
				return errors.New("this is not the id of a key: it starts with key_; \"waybill key list\" shows it")
			}

			return c.withAccounts(cmd.Context(), func(accounts *account.Service) error {
				if owner != "" {
					if err := requireKey(cmd.Context(), accounts, owner, id); err != nil {
						return err
					}
				}
				if err := accounts.Revoke(cmd.Context(), id); err != nil {
					return err
				}
				fmt.Fprintf(c.Err, "%s was revoked; running copies reject it within seconds\n", id)
				return nil
			})
		},
	}

	accountFlag(cmd, &owner, owningAccount)
	return cmd
}

// requireKey rejects a key that does not belong to the owner.
func requireKey(ctx context.Context, accounts *account.Service, owner string, id ship.KeyID) error {
	found, err := chooseAccount(ctx, accounts, owner)
	if err != nil {
		return err
	}
	keys, err := accounts.Keys(ctx, found.ID)
	if err != nil {
		return err
	}

	if !slices.ContainsFunc(keys, func(key account.APIKey) bool { return key.ID == id }) {
		return errOtherAccount(string(id), owner)
	}
	return nil
}
