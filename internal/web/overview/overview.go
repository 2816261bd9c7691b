// Package overview has the pages about the whole account: the overview, what
// needs attention, and the search.
package overview

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/newshipment"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/webhook"
)

// overviewPage answers the questions that a manager has in the morning.
type overviewPage struct {
	shipping.Overview
	Range     dayRange
	Now, Then figures // of the range, and of as many days before it
	Chart     chart
	Carriers  []share
	Statuses  []share
	Slow      []webhook.Pace
	Attention shipping.Attention
	NoCarrier bool // no carrier is connected in the mode
}

// A share is the part of all shipments that belongs to one carrier, or to one
// filter of the list.
type share struct {
	Name  string // of the carrier, or the filter's value
	Count int
	Of    int
	Spend ship.Money
}

// figures are the sums of some days. All but All are of live labels: what was
// voided or not bought is neither shipped nor paid for.
type figures struct {
	All              int // shipments, whatever became of their labels
	Count, Paid      int
	Promised, OnTime int
	Exceptions       int
	Spend            ship.Money
}

// getOverview handles GET /app/{account}/{mode}.
func getOverview(v *site.Visit) error {
	var err error
	page := overviewPage{Range: rangeOf(v.Query("days"), v.Query("from"), v.Query("until"), time.Now())}
	if page.Overview, err = v.Shipping.Overview(v.Context(), v.Tenant(), page.Range.From, page.Range.end()); err != nil {
		return err
	}
	if v.Who.Can(member.ViewWebhooks) {
		if page.Slow, err = v.Webhook.Paces(v.Context(), v.Tenant(), 5); err != nil {
			return err
		}
	}

	page.addUp(v.Who.Account.Currency)
	if page.Now.All == 0 {
		if page.NoCarrier, err = newshipment.NoCarrier(v); err != nil {
			return err
		}
	}

	frame := v.Frame("Overview", "")
	page.Attention = frame.Attention
	if v.IsPart() {
		return v.Show(http.StatusOK, overviewBody(frame, page))
	}
	return v.Show(http.StatusOK, overviewPageView(frame, page))
}

// addUp computes the figures, the shares and the chart from the tallies.
func (p *overviewPage) addUp(currency string) {
	p.Now = sum(p.Tallies, currency)
	p.Then = sum(p.Before, currency)

	carriers := map[string]share{}
	statuses := map[string]share{}
	add := func(shares map[string]share, name string, tally shipping.Tally) {
		part := shares[name]
		part.Name = name
		part.Count += tally.Count
		part.Of = p.Now.All
		part.Spend.Currency = currency
		if isSpend(tally, currency) {
			part.Spend.Minor += tally.Price.Minor
		}
		shares[name] = part
	}
	for _, tally := range p.Tallies {
		// A label that was voided or not bought has a status, but is part of no
		// carrier's share.
		if tally.State == ship.StatePurchased {
			add(carriers, tally.Carrier, tally)
		}
		add(statuses, parts.FilterValueOf(tally.Status, tally.State), tally)
	}

	for _, part := range carriers {
		p.Carriers = append(p.Carriers, part)
	}
	slices.SortFunc(p.Carriers, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})

	for _, filter := range parts.StatusFilters {
		if part, ok := statuses[filter.Value]; ok && part.Count > 0 {
			p.Statuses = append(p.Statuses, part)
		}
	}
	p.Chart = draw(p.Range, p.Days)
}

// isSpend reports whether the tally's price is money spent in the currency.
func isSpend(tally shipping.Tally, currency string) bool {
	return tally.State == ship.StatePurchased && tally.Price.Currency == currency
}

func sum(tallies []shipping.Tally, currency string) figures {
	total := figures{Spend: ship.Money{Currency: currency}}
	for _, tally := range tallies {
		total.All += tally.Count
		if tally.State != ship.StatePurchased {
			continue
		}

		total.Count += tally.Count
		total.Promised += tally.Promised
		total.OnTime += tally.OnTime
		if isSpend(tally, currency) {
			total.Spend.Minor += tally.Price.Minor
			total.Paid += tally.Count
		}
		if tally.Status == ship.Exception {
			total.Exceptions += tally.Count
		}
	}
	return total
}

// Each returns the average cost of a parcel.
func (f figures) Each() ship.Money {
	if f.Paid == 0 {
		return ship.Money{Currency: f.Spend.Currency}
	}
	return ship.Money{Minor: f.Spend.Minor / int64(f.Paid), Currency: f.Spend.Currency}
}

// OnTimePercent returns the share of parcels with a promised date that arrived
// on time; zero if none had one.
func (f figures) OnTimePercent() int64 { return int64(f.OnTime * 100 / max(f.Promised, 1)) }

// Punctual is OnTimePercent as text.
func (f figures) Punctual() string {
	if f.Promised == 0 {
		return "–"
	}
	return strconv.FormatInt(f.OnTimePercent(), 10) + " %"
}

// Trouble returns the share of all parcels that are exceptions, as text.
func (f figures) Trouble() string {
	if f.Count == 0 {
		return "none"
	}
	return strconv.FormatFloat(float64(f.Exceptions)*100/float64(f.Count), 'f', 1, 64) + " % of all"
}

// against describes how a number changed from the preceding range.
func against(now, then int64) string {
	switch {
	case then == 0 && now == 0:
		return "no change"
	case then == 0:
		return "none previously"
	}

	change := (now - then) * 100 / then
	switch {
	case change > 0:
		return "up " + strconv.FormatInt(change, 10) + " %"
	case change < 0:
		return "down " + strconv.FormatInt(-change, 10) + " %"
	}
	return "no change"
}

// better returns the tone for two numbers, the first of which should be higher.
// It is neutral if one is missing, or if they differ by less than a percent.
func better(high, low int64) string {
	switch {
	case high == 0 || low == 0 || (high-low)*100/min(high, low) == 0:
		return ""
	case high > low:
		return "better"
	}
	return "worse"
}

// alarm returns the tone of a number that should be zero.
func alarm(n int) string {
	if n > 0 {
		return "alarm"
	}
	return ""
}
