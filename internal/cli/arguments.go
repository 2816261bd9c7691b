package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// showHelp runs a command that only has subcommands.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// requireSubcommand rejects anything that is not a subcommand of cmd, and
// suggests the closest one.
func requireSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}

	cmd.SuggestionsMinimumDistance = 2
	advice := fmt.Sprintf("\"%s --help\" lists the commands", cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		advice = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %s: %s", args[0], cmd.CommandPath(), advice)
}

// What --account means. Every command that reads or changes data of accounts has
// the flag, with one of these meanings.
const (
	oneAccount    = "id of the account; optional if there is only one"
	allAccounts   = "id of the account (default: all)"
	owningAccount = "id of the account that must own it (default: any)"
)

func accountFlag(cmd *cobra.Command, id *string, meaning string) {
	cmd.Flags().StringVar(id, "account", "", meaning)
}

// errOtherAccount is the error for an object that does not belong to the
// account given by --account.
func errOtherAccount(thing, account string) error {
	return fmt.Errorf("%s does not belong to account %s", thing, account)
}

// oneArgument rejects all but one argument, and shows how the command is
// written.
func oneArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("expected one argument, got %d: %s", len(args), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
}
