package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// How much of a long list a report shows; --json has the rest.
const (
	shownZones   = 15
	shownChanges = 10
)

// report prints a simulation.
type report struct {
	rulebook.Simulation
	w *tabwriter.Writer
}

func (c *cli) printSimulation(simulation rulebook.Simulation) error {
	r := report{simulation, tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)}
	fmt.Fprintf(c.Out, "Looked at %s, compared %d: %d would ship differently.\n", pluralize(simulation.Shipments, "shipment"), simulation.Compared, simulation.Changed)
	for _, note := range r.notes() {
		fmt.Fprintf(c.Out, "  %s\n", note)
	}
	if simulation.Compared == 0 {
		return nil
	}

	r.printTotals()
	r.printParts("CARRIER", simulation.Carriers, false)
	r.printParts("ZONE", simulation.Zones[:min(len(simulation.Zones), shownZones)], true)
	if more := len(simulation.Zones) - shownZones; more > 0 {
		fmt.Fprintf(r.w, "and %s; use --json to list all\n", pluralize(more, "more zone"))
	}

	fmt.Fprintf(r.w, "\nRULE\tSHIPMENTS\n")
	for _, rule := range simulation.Rules {
		fmt.Fprintf(r.w, "%s\t%d\n", ruleName(rule.Rule), rule.Shipments)
	}
	r.printChanges()
	return r.w.Flush()
}

// notes returns what the figures leave out, and where they are not exact.
func (r report) notes() []string {
	list := []string{}
	for _, line := range []struct {
		shipments int
		note      string
	}{
		{r.Named, "not compared: the client named the carrier or the rate, so no rule applies"},
		{r.Unknown, "not compared: the original offers were not stored"},
		{r.Foreign, "not compared: not in " + r.Currency},
		{r.Refused, "not compared: the rules would have bought nothing"},
		{r.Requoted, "quoted again by the simulated carriers"},
		{r.Approximate, "approximate: the rules require a signature whose price was not quoted at the time"},
		{r.Compared - r.Was.Timed, "left out of the days: transit time is not known for both offers"},
	} {
		if line.shipments > 0 {
			list = append(list, fmt.Sprintf("%d %s", line.shipments, line.note))
		}
	}
	return list
}

func (r report) printTotals() {
	fmt.Fprintf(r.w, "\n\tWAS\tWOULD BE\tSAVED\n")
	fmt.Fprintf(r.w, "cost, %s\t%s\t%s\t%s\n", r.Currency, r.amount(r.Was.Minor), r.amount(r.Is.Minor), r.saved(r.Was, r.Is))
	if r.Was.Timed > 0 {
		fmt.Fprintf(r.w, "days, average\t%s\t%s\t%.2f\n", averageDays(r.Was), averageDays(r.Is), float64(r.Was.Days-r.Is.Days)/float64(r.Was.Timed))
	}
}

// printParts prints the sums of carriers or of zones. A zone has the same
// parcels before and after, so the difference is what it saves. A carrier may
// have other parcels, so the difference has no such name.
func (r report) printParts(head string, list []rulebook.Part, withSaved bool) {
	fmt.Fprintf(r.w, "\n%s\tSHIPMENTS\tWOULD BE\tCOST\tWOULD BE\tDAYS\tWOULD BE", head)
	if withSaved {
		fmt.Fprint(r.w, "\tSAVED")
	}
	fmt.Fprintln(r.w)

	for _, part := range list {
		fmt.Fprintf(r.w, "%s\t%d\t%d\t%s\t%s\t%s\t%s",
			part.Name,
			part.Was.Shipments,
			part.Is.Shipments,
			r.amount(part.Was.Minor),
			r.amount(part.Is.Minor),
			averageDays(part.Was),
			averageDays(part.Is))
		if withSaved {
			fmt.Fprint(r.w, "\t"+r.saved(part.Was, part.Is))
		}
		fmt.Fprintln(r.w)
	}
}

func (r report) printChanges() {
	if len(r.Changes) == 0 {
		return
	}

	fmt.Fprintf(r.w, "\nNEWEST CHANGES\tORDER\tWAS\tWOULD BE\tSAVED\tRULE\n")
	for _, change := range r.Changes[:min(len(r.Changes), shownChanges)] {
		fmt.Fprintf(r.w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			change.Shipment,
			orDash(printable(change.OrderID)),
			formatOffer(change.Was),
			formatOffer(change.Is),
			r.amount(change.Was.Price.Minor-change.Is.Price.Minor),
			ruleName(change.Rule))
	}
}

func formatOffer(rate ship.Rate) string {
	return rate.Carrier + " " + rate.Service + " " + rate.Price.Amount()
}

func ruleName(name string) string {
	if name == "" {
		return "(default)"
	}
	return printable(name)
}

func (r report) amount(minor int64) string {
	return ship.Money{Minor: minor, Currency: r.Currency}.Amount()
}

// saved returns what would have been saved, also in percent of what was paid.
func (r report) saved(was, is rulebook.Sum) string {
	less := was.Minor - is.Minor
	if was.Minor == 0 {
		return r.amount(less)
	}
	return fmt.Sprintf("%s (%.1f %%)", r.amount(less), 100*float64(less)/float64(was.Minor))
}

func averageDays(sum rulebook.Sum) string {
	if sum.Timed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(sum.Days)/float64(sum.Timed))
}
