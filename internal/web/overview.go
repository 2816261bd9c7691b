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
	Days     int
	Bars     []dayBar
	Carriers []share
	Failing  []webhook.Endpoint
	Total    int
	Spend    ship.Money
	Each     ship.Money // per parcel
	OnTime   string
	Trouble  int
	Moving   int
}

// A dayBar is one day of the chart, in its own measure.
type dayBar struct {
	X, Y, Height, Width string
	Title, Class        string
}

// A share is a carrier's part.
type share struct {
	Carrier string
	Count   int
	Of      int
}

var ranges = []int{7, 30, 90}

// overview handles GET /app/{mode}.
func (s *Web) overview(v *visit) error {
	p := overviewPage{Days: 30}
	if n, err := strconv.Atoi(v.query("days")); err == nil && slices.Contains(ranges, n) {
		p.Days = n
	}
	now := time.Now().UTC().Truncate(24 * time.Hour)
	var err error
	if p.Overview, err = s.Shipping.Overview(v.ctx(), v.tenant(), now.AddDate(0, 0, 1-p.Days)); err != nil {
		return err
	}
	if v.who.Can(member.ViewWebhooks) {
		list, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
		if err != nil {
			return err
		}
		p.Failing = slices.DeleteFunc(list, func(e webhook.Endpoint) bool {
			return e.Failures == 0 && !e.Parked && (e.Enabled || e.DisabledReason == webhook.DisabledByClient)
		})
	}
	p.count(v.who.Account.Currency, now)
	f := v.frame("Overview", "")
	if v.isPart() {
		return v.show(http.StatusOK, overviewBody(f, p))
	}
	return v.show(http.StatusOK, overviewPageView(f, p))
}

// count adds up.
func (p *overviewPage) count(currency string, today time.Time) {
	perDay, perCarrier := map[time.Time]int{}, map[string]int{}
	p.Spend.Currency = currency
	promised, onTime, paid := 0, 0, 0
	for _, a := range p.Tallies {
		p.Total += a.Count
		perDay[a.Day.UTC()] += a.Count
		perCarrier[a.Carrier] += a.Count
		promised, onTime = promised+a.Promised, onTime+a.OnTime
		if a.Price.Currency == currency && a.State == ship.StatePurchased {
			p.Spend.Minor += a.Price.Minor
			paid += a.Count
		}
		switch {
		case a.State == ship.StateNeedsReview || a.State == ship.StateUncertain || a.Status == ship.Exception && a.State == ship.StatePurchased:
			p.Trouble += a.Count
		case a.State == ship.StatePurchased && a.Status != ship.Delivered && a.Status != ship.LabelGenerated:
			p.Moving += a.Count
		}
	}
	if paid > 0 {
		p.Each = ship.Money{Minor: p.Spend.Minor / int64(paid), Currency: currency}
	}
	p.OnTime = "–"
	if promised > 0 {
		p.OnTime = strconv.Itoa(onTime*100/promised) + " %"
	}
	for name, n := range perCarrier {
		p.Carriers = append(p.Carriers, share{name, n, p.Total})
	}
	slices.SortFunc(p.Carriers, func(a, b share) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Carrier, b.Carrier)) })
	p.draw(perDay, today)
}

// The chart's own measure.
const chartWidth, chartHeight = 600.0, 120.0

func (p *overviewPage) draw(perDay map[time.Time]int, today time.Time) {
	most := 1
	for _, n := range perDay {
		most = max(most, n)
	}
	step := chartWidth / float64(p.Days)
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	for i := range p.Days {
		day := today.AddDate(0, 0, i+1-p.Days)
		n := perDay[day]
		h := float64(n) / float64(most) * (chartHeight - 10)
		class := ""
		if n == 0 {
			h, class = 1.5, "under"
		}
		p.Bars = append(p.Bars, dayBar{
			X: f(float64(i)*step + step*0.12), Y: f(chartHeight - h), Height: f(h), Width: f(step * 0.76),
			Title: day.Format("2 Jan") + ": " + strconv.Itoa(n), Class: class,
		})
	}
}
