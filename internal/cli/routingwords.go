package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
)

// printBook prints rules as the file that they are written in.
func (c *cli) printBook(book routing.Book) error {
	encoder := json.NewEncoder(c.Out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(book)
}

// printRules prints rules for a person.
func (c *cli) printRules(book routing.Book) error {
	for i, rule := range book.Rules {
		disabled := ""
		if rule.Disabled {
			disabled = " (disabled)"
		}
		fmt.Fprintf(c.Out, "%d. %s%s\n", i+1, printable(rule.Name), disabled)
		if rule.When != "" {
			fmt.Fprintf(c.Out, "   when  %s\n", strings.Join(strings.Fields(rule.When), " "))
		}
		fmt.Fprintf(c.Out, "   then  %s%s\n", describeAction(rule.Then), describeGuard(rule.Guard))
		if rule.Otherwise == "refuse" {
			fmt.Fprintf(c.Out, "   else  refuse the shipment\n")
		}
	}

	// Without a default of its own, a book buys the cheapest offer.
	last := describeAction(book.Default)
	if last == "" {
		last = "the cheapest"
	}
	_, err := fmt.Fprintf(c.Out, "If no rule decides: %s\n", last)
	return err
}

// describeAction returns an action in words; "" for none.
func describeAction(action routing.Action) string {
	switch {
	case len(action.Use) > 0:
		return "use " + describeTargets(action.Use, ", then ")

	case action.Choose != "":
		return describeChoice(action)

	case len(action.Prefer) > 0:
		var tolerance []string
		if action.TolerancePercent != nil {
			tolerance = append(tolerance, fmt.Sprintf("%g %%", *action.TolerancePercent))
		}
		if action.ToleranceAmount != "" {
			tolerance = append(tolerance, action.ToleranceAmount)
		}
		return fmt.Sprintf("prefer %s up to %s over the cheapest", describeTargets(action.Prefer, " or "), orZero(strings.Join(tolerance, " and ")))

	case len(action.Split) > 0:
		parts := make([]string, len(action.Split))
		for i, share := range action.Split {
			parts[i] = fmt.Sprintf("%d %% %s", share.Percent, describeTargets([]routing.Target{share.Target}, ""))
		}
		return "split: " + strings.Join(parts, ", ")

	case len(action.Forbid) > 0:
		return "never " + describeTargets(action.Forbid, " or ")

	case action.Require != nil && action.Require.Signature == "adult":
		return "require an adult signature"

	case action.Require != nil:
		return "require a signature"
	}
	return ""
}

func describeChoice(action routing.Action) string {
	words := "the " + action.Choose
	if len(action.Only) > 0 {
		words += " of " + describeTargets(action.Only, " and ")
	}
	if action.By != "" {
		words += ", by " + string(action.By)
	}
	if action.WithinDays != nil {
		words += ", within " + pluralize(*action.WithinDays, "day")
	}
	if action.WithinDaysOfFastest != nil {
		words += fmt.Sprintf(", at most %s after the fastest", pluralize(*action.WithinDaysOfFastest, "day"))
	}
	if action.WithinPercentOfCheapest != nil {
		words += fmt.Sprintf(", at most %g %% over the cheapest", *action.WithinPercentOfCheapest)
	}
	return words
}

// describeGuard returns what may replace a choice that fails, as the end of a
// sentence.
func describeGuard(guard routing.Guard) string {
	if guard.None {
		return "; no fallback"
	}

	var more []string
	if guard.ExtraPercent != nil {
		more = append(more, fmt.Sprintf("%g %%", *guard.ExtraPercent))
	}
	if guard.ExtraAmount != "" {
		more = append(more, guard.ExtraAmount)
	}
	if guard.ExtraDays != nil {
		more = append(more, pluralize(*guard.ExtraDays, "day"))
	}
	if len(more) == 0 {
		return ""
	}
	return "; a fallback may add at most " + strings.Join(more, " and ")
}

func describeTargets(list []routing.Target, between string) string {
	words := make([]string, len(list))
	for i, target := range list {
		words[i] = target.Carrier
		if target.Service != "" {
			words[i] += " " + target.Service
		}
		if target.ConnectionID != "" {
			words[i] += " (" + string(target.ConnectionID) + ")"
		}
	}
	return strings.Join(words, between)
}

func orZero(percent string) string {
	if percent == "" {
		return "0 %"
	}
	return percent
}

// pluralize returns a number of things: "1 rule", "2 rules".
func pluralize(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func formatMinute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04Z") }

// noteSuffix returns the note of a version, after a colon.
func noteSuffix(version rulebook.Version) string {
	if note := historyNote(version); note != "" {
		return ": " + note
	}
	return ""
}

func historyNote(version rulebook.Version) string {
	note := printable(version.Note)
	switch {
	case version.Restored == 0:
		return note
	case note == "":
		return fmt.Sprintf("rollback to version %d", version.Restored)
	}
	return fmt.Sprintf("rollback to version %d: %s", version.Restored, note)
}

type shownVersion struct {
	Version      int          `json:"version"`
	PublishedAt  time.Time    `json:"publishedAt"`
	Note         string       `json:"note,omitempty"`
	RestoredFrom int          `json:"restoredFrom,omitempty"`
	Book         routing.Book `json:"book"`
}

func shownVersions(list []rulebook.Version) []any {
	shown := make([]any, len(list))
	for i, version := range list {
		shown[i] = shownVersion{
			Version:      version.Version,
			PublishedAt:  version.WrittenAt,
			Note:         version.Note,
			RestoredFrom: version.Restored,
			Book:         version.Rules,
		}
	}
	return shown
}

func (c *cli) routingVariablesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "variables",
		Short: "List the variables available in conditions",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				var shown []any
				for _, variable := range allVariables() {
					shown = append(shown, variable)
				}
				return c.printJSON(shown)
			}

			table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "VARIABLE\tTYPE\tEXAMPLE\tMEANING")
			for _, variable := range allVariables() {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", variable.Name, variable.Type, variable.Example, variable.Doc)
			}
			return table.Flush()
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one variable per line")
	return cmd
}

// allVariables lists the variables, and after quotes the fields of an offer.
func allVariables() []routing.Variable {
	var list []routing.Variable
	for _, variable := range routing.Variables() {
		list = append(list, variable)
		if variable.Name != "quotes" {
			continue
		}
		for _, field := range routing.OfferFields() {
			field.Name = "q." + field.Name
			list = append(list, field)
		}
	}
	return list
}
