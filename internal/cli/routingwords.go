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
func (c *cli) printBook(b routing.Book) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(b)
}

// printRules prints rules for a person.
func (c *cli) printRules(b routing.Book) error {
	for i, r := range b.Rules {
		off := ""
		if r.Disabled {
			off = " (disabled)"
		}
		fmt.Fprintf(c.Out, "%d. %s%s\n", i+1, printable(r.Name), off)
		if r.When != "" {
			fmt.Fprintf(c.Out, "   when  %s\n", strings.Join(strings.Fields(r.When), " "))
		}
		fmt.Fprintf(c.Out, "   then  %s%s\n", actionWords(r.Then), guardWords(r.Guard))
		if r.Otherwise == "refuse" {
			fmt.Fprintf(c.Out, "   else  refuse the shipment\n")
		}
	}
	last := actionWords(b.Default)
	if last == "" {
		last = "the cheapest"
	}
	_, err := fmt.Fprintf(c.Out, "If no rule decides: %s\n", last)
	return err
}

// actionWords is an action in words; "" for none.
func actionWords(a routing.Action) string {
	switch {
	case len(a.Use) > 0:
		return "use " + targetWords(a.Use, ", then ")
	case a.Choose != "":
		return chooseWords(a)
	case len(a.Prefer) > 0:
		var more []string
		if a.TolerancePercent != nil {
			more = append(more, fmt.Sprintf("%g %%", *a.TolerancePercent))
		}
		if a.ToleranceAmount != "" {
			more = append(more, a.ToleranceAmount)
		}
		return fmt.Sprintf("prefer %s up to %s over the cheapest", targetWords(a.Prefer, " or "), orZero(strings.Join(more, " and ")))
	case len(a.Split) > 0:
		parts := make([]string, len(a.Split))
		for i, s := range a.Split {
			parts[i] = fmt.Sprintf("%d %% %s", s.Percent, targetWords([]routing.Target{s.Target}, ""))
		}
		return "split: " + strings.Join(parts, ", ")
	case len(a.Forbid) > 0:
		return "never " + targetWords(a.Forbid, " or ")
	case a.Require != nil && a.Require.Signature == "adult":
		return "ask for the signature of an adult"
	case a.Require != nil:
		return "ask for a signature"
	}
	return ""
}

func chooseWords(a routing.Action) string {
	words := "the " + a.Choose
	if len(a.Only) > 0 {
		words += " of " + targetWords(a.Only, " and ")
	}
	if a.By != "" {
		words += ", by " + string(a.By)
	}
	if a.WithinDays != nil {
		words += ", within " + count(*a.WithinDays, "day")
	}
	if a.WithinDaysOfFastest != nil {
		words += fmt.Sprintf(", at most %s after the fastest", count(*a.WithinDaysOfFastest, "day"))
	}
	if a.WithinPercentOfCheapest != nil {
		words += fmt.Sprintf(", at most %g %% over the cheapest", *a.WithinPercentOfCheapest)
	}
	return words
}

// guardWords is what may follow a choice that fails, after it.
func guardWords(g routing.Guard) string {
	if g.None {
		return "; if that fails, no other"
	}
	var more []string
	if g.ExtraPercent != nil {
		more = append(more, fmt.Sprintf("%g %%", *g.ExtraPercent))
	}
	if g.ExtraAmount != "" {
		more = append(more, g.ExtraAmount)
	}
	if g.ExtraDays != nil {
		more = append(more, count(*g.ExtraDays, "day"))
	}
	if len(more) == 0 {
		return ""
	}
	return "; if that fails, another for at most " + strings.Join(more, " and ") + " more"
}

func targetWords(list []routing.Target, between string) string {
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = t.Carrier
		if t.Service != "" {
			words[i] += " " + t.Service
		}
		if t.ConnectionID != "" {
			words[i] += " (" + string(t.ConnectionID) + ")"
		}
	}
	return strings.Join(words, between)
}

func orZero(s string) string {
	if s == "" {
		return "0 %"
	}
	return s
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// noteOf is what was said of a version, after a colon.
func noteOf(v rulebook.Version) string {
	if note := historyNote(v); note != "" {
		return ": " + note
	}
	return ""
}

func historyNote(v rulebook.Version) string {
	note := printable(v.Note)
	switch {
	case v.Restored == 0:
		return note
	case note == "":
		return fmt.Sprintf("version %d again", v.Restored)
	}
	return fmt.Sprintf("version %d again: %s", v.Restored, note)
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
	for i, v := range list {
		shown[i] = shownVersion{v.Version, v.WrittenAt, v.Note, v.Restored, v.Rules}
	}
	return shown
}

func (c *cli) routingVariablesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "variables",
		Short: "List what conditions can read",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				var shown []any
				for _, v := range allVariables() {
					shown = append(shown, v)
				}
				return c.printJSON(shown)
			}
			w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "VARIABLE\tTYPE\tEXAMPLE\tMEANING")
			for _, v := range allVariables() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.Name, v.Type, v.Example, v.Doc)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one variable a line")
	return cmd
}

// allVariables lists the variables, and after quotes the fields of an offer.
func allVariables() []routing.Variable {
	var list []routing.Variable
	for _, v := range routing.Variables() {
		list = append(list, v)
		if v.Name != "quotes" {
			continue
		}
		for _, f := range routing.OfferFields() {
			f.Name = "q." + f.Name
			list = append(list, f)
		}
	}
	return list
}
