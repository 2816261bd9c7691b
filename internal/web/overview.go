package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/webhook"
)

// overviewPage is what a manager asks in the morning.
type overviewPage struct {
	shipping.Overview
	Range     dayRange
	Now, Then figures // of the range, and of as many days before it
	Chart     chart
	Carriers  []share
	Statuses  []share
	Slow      []webhook.Pace
	Attention shipping.Attention
	NoCarrier bool // is connected in the mode
}

// A share is a part of all: of one carrier, or in one filter of the list.
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

// overview handles GET /app/{mode}.
func (s *Web) overview(v *visit) error {
	p := overviewPage{Range: rangeOf(v.query("days"), v.query("from"), v.query("until"), time.Now())}
	var err error
	if p.Overview, err = s.Shipping.Overview(v.ctx(), v.tenant(), p.Range.From, p.Range.end()); err != nil {
		return err
	}
	if v.who.Can(member.ViewWebhooks) {
		if p.Slow, err = s.Webhook.Paces(v.ctx(), v.tenant(), 5); err != nil {
			return err
		}
	}
	p.count(v.who.Account.Currency)
	f := v.frame("Overview", "")
	p.Attention = f.Attention
	if p.Now.All == 0 {
		if p.NoCarrier, err = v.noCarrier(); err != nil {
			return err
		}
	}
	if v.isPart() {
		return v.show(http.StatusOK, overviewBody(f, p))
	}
	return v.show(http.StatusOK, overviewPageView(f, p))
}

// count adds up.
func (p *overviewPage) count(currency string) {
	p.Now, p.Then = sum(p.Tallies, currency), sum(p.Before, currency)
	carriers, statuses := map[string]share{}, map[string]share{}
	add := func(to map[string]share, name string, a shipping.Tally) {
		part := to[name]
		part.Name, part.Count, part.Of = name, part.Count+a.Count, p.Now.All
		part.Spend.Currency = currency
		if counts(a, currency) {
			part.Spend.Minor += a.Price.Minor
		}
		to[name] = part
	}
	for _, a := range p.Tallies {
		if a.State == ship.StatePurchased {
			add(carriers, a.Carrier, a)
		}
		add(statuses, filterValueOf(a.Status, a.State), a)
	}
	for _, part := range carriers {
		p.Carriers = append(p.Carriers, part)
	}
	slices.SortFunc(p.Carriers, func(a, b share) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	for _, f := range statusFilters {
		if part, any := statuses[f.Value]; any && part.Count > 0 {
			p.Statuses = append(p.Statuses, part)
		}
	}
	p.Chart = draw(p.Range, p.Days)
}

// counts reports whether the tally's price is money spent in the currency.
func counts(a shipping.Tally, currency string) bool {
	return a.State == ship.StatePurchased && a.Price.Currency == currency
}

func sum(list []shipping.Tally, currency string) figures {
	f := figures{Spend: ship.Money{Currency: currency}}
	for _, a := range list {
		f.All += a.Count
		if a.State != ship.StatePurchased {
			continue
		}
		f.Count += a.Count
		f.Promised, f.OnTime = f.Promised+a.Promised, f.OnTime+a.OnTime
		if counts(a, currency) {
			f.Spend.Minor += a.Price.Minor
			f.Paid += a.Count
		}
		if a.Status == ship.Exception {
			f.Exceptions += a.Count
		}
	}
	return f
}

// Each is the cost of a parcel.
func (f figures) Each() ship.Money {
	if f.Paid == 0 {
		return ship.Money{Currency: f.Spend.Currency}
	}
	return ship.Money{Minor: f.Spend.Minor / int64(f.Paid), Currency: f.Spend.Currency}
}

// OnTimePercent is the part of the promised parcels that came on time; zero if
// none was promised.
func (f figures) OnTimePercent() int64 { return int64(f.OnTime * 100 / max(f.Promised, 1)) }

// Punctual is the same for people.
func (f figures) Punctual() string {
	if f.Promised == 0 {
		return "–"
	}
	return strconv.FormatInt(f.OnTimePercent(), 10) + " %"
}

// Trouble is the part of all parcels that are exceptions.
func (f figures) Trouble() string {
	if f.Count == 0 {
		return "none"
	}
	return strconv.FormatFloat(float64(f.Exceptions)*100/float64(f.Count), 'f', 1, 64) + " % of all"
}

// against says how a number changed since the range before.
func against(now, then int64) string {
	switch {
	case then == 0 && now == 0:
		return "as before"
	case then == 0:
		return "none before"
	}
	change := (now - then) * 100 / then
	switch {
	case change > 0:
		return "up " + strconv.FormatInt(change, 10) + " %"
	case change < 0:
		return "down " + strconv.FormatInt(-change, 10) + " %"
	}
	return "as before"
}

// better is the tone of two numbers of which the first should be the higher
// one. There is none where one is missing, or where they are less than a
// percent apart.
func better(high, low int64) string {
	switch {
	case high == 0 || low == 0 || (high-low)*100/min(high, low) == 0:
		return ""
	case high > low:
		return "better"
	}
	return "worse"
}

// alarm is the tone of what should be none.
func alarm(n int) string {
	if n > 0 {
		return "alarm"
	}
	return ""
}
