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

func (c *cli) printSimulation(sim rulebook.Simulation) error {
	r := report{sim, tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)}
	fmt.Fprintf(c.Out, "Looked at %s, compared %d: %d would go another way.\n", count(sim.Shipments, "shipment"), sim.Compared, sim.Changed)
	for _, note := range r.notes() {
		fmt.Fprintf(c.Out, "  %s\n", note)
	}
	if sim.Compared == 0 {
		return nil
	}
	r.totals()
	r.parts("CARRIER", sim.Carriers, false)
	r.parts("ZONE", sim.Zones[:min(len(sim.Zones), shownZones)], true)
	if more := len(sim.Zones) - shownZones; more > 0 {
		fmt.Fprintf(r.w, "and %s, with --json\n", count(more, "more zone"))
	}
	fmt.Fprintf(r.w, "\nRULE\tSHIPMENTS\n")
	for _, rule := range sim.Rules {
		fmt.Fprintf(r.w, "%s\t%d\n", ruleName(rule.Rule), rule.Shipments)
	}
	r.changes()
	return r.w.Flush()
}

// notes say what the figures are not about, and where they are not exact.
func (r report) notes() []string {
	list := []string{}
	for _, n := range []struct {
		shipments int
		note      string
	}{
		{r.Named, "not compared: the client named the carrier or the rate, so no rule applies"},
		{r.Unknown, "not compared: the offers of then were not stored"},
		{r.Foreign, "not compared: another currency than " + r.Currency},
		{r.Refused, "not compared: the rules would have bought nothing"},
		{r.Requoted, "quoted again by the simulated carriers"},
		{r.Approximate, "approximate: the rules ask for a signature whose price was not quoted then"},
		{r.Compared - r.Was.Timed, "left out of the days, which are not known both ways"},
	} {
		if n.shipments > 0 {
			list = append(list, fmt.Sprintf("%d %s", n.shipments, n.note))
		}
	}
	return list
}

func (r report) totals() {
	was, is := r.Was, r.Is
	fmt.Fprintf(r.w, "\n\tWAS\tWOULD BE\tSAVED\n")
	fmt.Fprintf(r.w, "cost, %s\t%s\t%s\t%s\n", r.Currency, r.amount(was.Minor), r.amount(is.Minor), r.saved(was, is))
	if was.Timed > 0 {
		fmt.Fprintf(r.w, "days, average\t%s\t%s\t%.2f\n", average(was), average(is), float64(was.Days-is.Days)/float64(was.Timed))
	}
}

// parts prints the sums of carriers or of zones. What a zone saves is the same
// parcels for less; what a carrier loses may be other parcels, so it is not
// called so.
func (r report) parts(head string, list []rulebook.Part, saved bool) {
	fmt.Fprintf(r.w, "\n%s\tSHIPMENTS\tWOULD BE\tCOST\tWOULD BE\tDAYS\tWOULD BE", head)
	if saved {
		fmt.Fprint(r.w, "\tSAVED")
	}
	fmt.Fprintln(r.w)
	for _, p := range list {
		fmt.Fprintf(r.w, "%s\t%d\t%d\t%s\t%s\t%s\t%s", p.Name, p.Was.Shipments, p.Is.Shipments, r.amount(p.Was.Minor), r.amount(p.Is.Minor), average(p.Was), average(p.Is))
		if saved {
			fmt.Fprint(r.w, "\t"+r.saved(p.Was, p.Is))
		}
		fmt.Fprintln(r.w)
	}
}

func (r report) changes() {
	if len(r.Changes) == 0 {
		return
	}
	fmt.Fprintf(r.w, "\nNEWEST CHANGES\tORDER\tWAS\tWOULD BE\tSAVED\tRULE\n")
	for _, c := range r.Changes[:min(len(r.Changes), shownChanges)] {
		fmt.Fprintf(r.w, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Shipment, orDash(printable(c.OrderID)), offerWords(c.Was), offerWords(c.Is), r.amount(c.Was.Price.Minor-c.Is.Price.Minor), ruleName(c.Rule))
	}
}

func offerWords(r ship.Rate) string {
	return r.Carrier + " " + r.Service + " " + r.Price.Amount()
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

// saved is what would have been saved, also in percent of what was paid.
func (r report) saved(was, is rulebook.Sum) string {
	less := was.Minor - is.Minor
	if was.Minor == 0 {
		return r.amount(less)
	}
	return fmt.Sprintf("%s (%.1f %%)", r.amount(less), 100*float64(less)/float64(was.Minor))
}

func average(s rulebook.Sum) string {
	if s.Timed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(s.Days)/float64(s.Timed))
}
