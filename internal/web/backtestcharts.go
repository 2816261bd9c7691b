package web

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// A pairBar is a line of a chart: what was, over what would be.
type pairBar struct {
	Name         string
	Link         string // list of the shipments behind it; "" for a zone
	Zone         string // whose changed shipments are listed on demand; "" if it has none
	Was, Is      string
	WidthWas     string // of a hundred
	WidthIs      string
	Worse, Saves bool
}

// pairBars measures the parts by their longest bar.
func pairBars(parts []rulebook.Part, value func(rulebook.Sum) float64, word func(float64) string) []pairBar {
	most := 0.0
	for _, p := range parts {
		most = max(most, value(p.Was), value(p.Is))
	}
	bars := make([]pairBar, len(parts))
	for i, p := range parts {
		was, is := value(p.Was), value(p.Is)
		bars[i] = pairBar{Name: p.Name, Was: word(was), Is: word(is), WidthWas: widthOf(was, most), WidthIs: widthOf(is, most), Worse: is > was && was > 0, Saves: is < was && is > 0}
	}
	return bars
}

func widthOf(v, most float64) string {
	if most == 0 {
		return "0"
	}
	return strconv.FormatFloat(v/most*100, 'f', 1, 64)
}

// mostZones is how many zones a chart shows, those with the most shipments.
const mostZones = 12

// A backtestChart is one chart of the result.
type backtestChart struct {
	Title string
	Bars  []pairBar
}

// charts are cost and days, by carrier and by zone.
func (p backtestView) charts(f frame) []backtestChart {
	s := p.Done
	cost := func(sum rulebook.Sum) float64 { return float64(sum.Minor) }
	costWord := func(v float64) string { return zeroMoney(ship.Money{Minor: int64(v), Currency: s.Currency}) }
	daysOf := func(sum rulebook.Sum) float64 {
		if sum.Timed == 0 {
			return 0
		}
		return float64(sum.Days) / float64(sum.Timed)
	}
	daysWord := func(v float64) string {
		if v == 0 {
			return "–"
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	zones := s.Zones[:min(len(s.Zones), mostZones)]
	return []backtestChart{
		{"Cost by carrier", byCarrier(f, pairBars(s.Carriers, cost, costWord))},
		{"Average days by carrier", byCarrier(f, pairBars(s.Carriers, daysOf, daysWord))},
		{"Cost by zone", byZone(zones, pairBars(zones, cost, costWord))},
		{"Average days by zone", byZone(zones, pairBars(zones, daysOf, daysWord))},
	}
}

// byCarrier names the bars and leads to the carriers' shipments.
func byCarrier(f frame, bars []pairBar) []pairBar {
	for i, b := range bars {
		bars[i].Name, bars[i].Link = carrierTitle(b.Name), f.To("shipments")+"?carrier="+b.Name
	}
	return bars
}

// byZone lets those zones that have changed shipments be looked at.
func byZone(zones []rulebook.Part, bars []pairBar) []pairBar {
	for i, z := range zones {
		if z.Changed > 0 {
			bars[i].Zone = z.Name
		}
	}
	return bars
}

// Changed is how many shipments the list of changes is about.
func (p backtestView) Changed() int {
	if p.Zone == "" {
		return p.Done.Changed
	}
	for _, z := range p.Done.Zones {
		if z.Name == p.Zone {
			return z.Changed
		}
	}
	return 0
}

// zeroMoney is an amount, also if it is nothing.
func zeroMoney(m ship.Money) string {
	if m.Minor == 0 {
		return strings.Replace(money(ship.Money{Minor: 1, Currency: m.Currency}), "1", "0", 1)
	}
	if m.Minor < 0 {
		m.Minor = -m.Minor
		return "−" + money(m)
	}
	return money(m)
}

// shareWord is what is more or less, in percent of what was.
func shareWord(was, is int64) string {
	switch {
	case was == 0:
		return ""
	case is == was:
		return "the same"
	case is > was:
		return strconv.FormatFloat(float64(is-was)/float64(was)*100, 'f', 1, 64) + " % more"
	}
	return strconv.FormatFloat(float64(was-is)/float64(was)*100, 'f', 1, 64) + " % less"
}

// ruleLink leads to a rule of the book that was tried.
func (p backtestView) ruleLink(f frame, name string) string {
	version := p.Which
	switch version {
	case "draft":
		return f.To("routing", "rule") + "?name=" + url.QueryEscape(name)
	case "published":
		version = strconv.Itoa(p.Newest)
	}
	return f.To("routing", "versions", version) + "#rule-" + ruleKey(name)
}

// averageDays is how long shipments take, in words.
func averageDays(s rulebook.Sum) string {
	if s.Timed == 0 {
		return "–"
	}
	return strconv.FormatFloat(float64(s.Days)/float64(s.Timed), 'f', 2, 64)
}

// A leftOut says how many shipments were not compared, and why.
type leftOut struct {
	N   int
	Why string
}

// LeftOut lists what the figures are not about.
func (p backtestView) LeftOut() []leftOut {
	s := p.Done
	var list []leftOut
	for _, l := range []leftOut{
		{s.Named, "the client named the carrier or the rate"},
		{s.Unknown, "from before the offers were stored"},
		{s.Foreign, "bought in another currency"},
		{s.Refused, "the rules would have bought nothing"},
		{s.Requoted, "compared by asking the simulated carriers again"},
		{s.Approximate, "compared without the price of the signature that the rules ask for"},
	} {
		if l.N > 0 {
			list = append(list, l)
		}
	}
	return list
}
