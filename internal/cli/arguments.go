package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// help is what a command does that only holds others.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// aCommand refuses what is no command of cmd, and names the nearest.
func aCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	advice := fmt.Sprintf("\"%s --help\" lists what there is", cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		advice = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q of %s: %s", args[0], cmd.CommandPath(), advice)
}

// What --account means. Every command that reads or changes data of accounts has
// the flag, with one of these meanings.
const (
	oneAccount  = "id of the account; not needed if there is only one"
	allAccounts = "id of the account (default: all)"
	ofAccount   = "id of the account that it must belong to (default: any)"
)

func accountFlag(cmd *cobra.Command, id *string, meaning string) {
	cmd.Flags().StringVar(id, "account", "", meaning)
}

// notOf is the error of a thing that is not the account's of --account.
func notOf(thing, account string) error {
	return fmt.Errorf("%s does not belong to the account %s", thing, account)
}

// oneArgument refuses all but one, and says how the command is written.
func oneArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("it takes one argument, not %d: %s", len(args), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
}
