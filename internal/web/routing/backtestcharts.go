package routing

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A pairBar is a line of a chart: the actual value above the simulated one.
type pairBar struct {
	Name         string
	Link         string // address of the list of its shipments; "" for a zone
	Zone         string // whose changed shipments are listed on demand; "" if it has none
	Was, Is      string
	WidthWas     string // in percent of the chart's width
	WidthIs      string
	Worse, Saves bool
}

// pairBars draws the parts, scaled to the longest bar.
func pairBars(parts []rulebook.Part, value func(rulebook.Sum) float64, format func(float64) string) []pairBar {
	most := 0.0
	for _, part := range parts {
		most = max(most, value(part.Was), value(part.Is))
	}

	bars := make([]pairBar, len(parts))
	for i, part := range parts {
		was := value(part.Was)
		is := value(part.Is)
		bars[i] = pairBar{
			Name:     part.Name,
			Was:      format(was),
			Is:       format(is),
			WidthWas: widthOf(was, most),
			WidthIs:  widthOf(is, most),

			// A part that has no value on one side is neither better nor worse:
			// there is nothing to compare it with.
			Worse: is > was && was > 0,
			Saves: is < was && is > 0,
		}
	}
	return bars
}

func widthOf(value, most float64) string {
	if most == 0 {
		return "0"
	}
	return strconv.FormatFloat(value/most*100, 'f', 1, 64)
}

// mostZones is how many zones a chart shows: those with the most shipments.
const mostZones = 12

// A backtestChart is one chart of the result.
type backtestChart struct {
	Title string
	Bars  []pairBar
}

// charts are cost and days, by carrier and by zone.
func (p backtestView) charts(f site.Frame) []backtestChart {
	simulation := p.Done

	cost := func(sum rulebook.Sum) float64 { return float64(sum.Minor) }
	formatCost := func(minor float64) string {
		return zeroMoney(ship.Money{Minor: int64(minor), Currency: simulation.Currency})
	}

	days := func(sum rulebook.Sum) float64 {
		if sum.Timed == 0 {
			return 0
		}
		return float64(sum.Days) / float64(sum.Timed)
	}
	formatDays := func(average float64) string {
		if average == 0 {
			return "–"
		}
		return strconv.FormatFloat(average, 'f', 1, 64)
	}

	zones := simulation.Zones[:min(len(simulation.Zones), mostZones)]
	return []backtestChart{
		{"Cost by carrier", linkCarriers(f, pairBars(simulation.Carriers, cost, formatCost))},
		{"Average days by carrier", linkCarriers(f, pairBars(simulation.Carriers, days, formatDays))},
		{"Cost by zone", linkZones(zones, pairBars(zones, cost, formatCost))},
		{"Average days by zone", linkZones(zones, pairBars(zones, days, formatDays))},
	}
}

// linkCarriers titles the bars and links them to the carriers' shipments.
func linkCarriers(f site.Frame, bars []pairBar) []pairBar {
	for i, bar := range bars {
		bars[i].Name = parts.CarrierTitle(bar.Name)
		bars[i].Link = f.To("shipments") + "?carrier=" + bar.Name
	}
	return bars
}

// linkZones marks the zones whose changed shipments can be listed.
func linkZones(zones []rulebook.Part, bars []pairBar) []pairBar {
	for i, zone := range zones {
		if zone.Changed > 0 {
			bars[i].Zone = zone.Name
		}
	}
	return bars
}

// Changed returns how many shipments changed, in the chosen zone or in all.
func (p backtestView) Changed() int {
	if p.Zone == "" {
		return p.Done.Changed
	}
	for _, zone := range p.Done.Zones {
		if zone.Name == p.Zone {
			return zone.Changed
		}
	}
	return 0
}

// zeroMoney formats an amount that may be zero or negative.
func zeroMoney(amount ship.Money) string {
	// money shows a dash for an amount without a currency, so zero is written
	// with the digits of the smallest amount.
	if amount.Minor == 0 {
		smallest := ship.Money{Minor: 1, Currency: amount.Currency}
		return strings.Replace(parts.Money(smallest), "1", "0", 1)
	}

	if amount.Minor < 0 {
		amount.Minor = -amount.Minor
		return "−" + parts.Money(amount)
	}
	return parts.Money(amount)
}

// shareWord formats a difference in percent of the earlier amount.
func shareWord(was, is int64) string {
	switch {
	case was == 0:
		return ""
	case is == was:
		return "no change"
	case is > was:
		return strconv.FormatFloat(float64(is-was)/float64(was)*100, 'f', 1, 64) + " % more"
	}
	return strconv.FormatFloat(float64(was-is)/float64(was)*100, 'f', 1, 64) + " % less"
}

// ruleLink returns the address of a rule of the version that was tried.
func (p backtestView) ruleLink(f site.Frame, name string) string {
	version := p.Which
	switch version {
	case "draft":
		return f.To("routing", "rule") + "?name=" + url.QueryEscape(name)
	case "published":
		version = strconv.Itoa(p.Newest)
	}
	return f.To("routing", "versions", version) + "#rule-" + offers.RuleKey(name)
}

// averageDays formats how many days shipments take on average.
func averageDays(sum rulebook.Sum) string {
	if sum.Timed == 0 {
		return "–"
	}
	return strconv.FormatFloat(float64(sum.Days)/float64(sum.Timed), 'f', 2, 64)
}

// A leftOut says how many shipments were not compared, and why.
type leftOut struct {
	N   int
	Why string
}

// LeftOut lists which shipments the figures leave out or estimate.
func (p backtestView) LeftOut() []leftOut {
	simulation := p.Done
	reasons := []leftOut{
		{simulation.Named, "the client named the carrier or the rate"},
		{simulation.Unknown, "bought before offers were stored"},
		{simulation.Foreign, "bought in another currency"},
		{simulation.Refused, "the rules would have bought nothing"},
		{simulation.Requoted, "compared with new quotes from the simulated carriers"},
		{simulation.Approximate, "compared without the price of the signature that the rules require"},
	}

	var list []leftOut
	for _, reason := range reasons {
		if reason.N > 0 {
			list = append(list, reason)
		}
	}
	return list
}
