package routing

import (
	"cel.dev/cel-go/common/types/ref"

	"github.com/waybillhq/waybill/internal/ship"
)

// maxQuotes is how many offers conditions see, the cheapest of them.
const maxQuotes = 100

// offerVariables read the offers that are left: those that meet the order's
// deliverBy and maxAmount and that no earlier rule forbids. There is at least
// one when a rule is asked.
var offerVariables = []variable{
	{
		Variable: Variable{
			Name: "quotes", Type: offersType, Example: `quotes.exists(q, q.carrier == "ups" && q.days <= 2)`,
			Doc: "The offers that are still allowed, cheapest first.",
		},
		size: maxQuotes,
		read: func(s *scope) ref.Val { return s.quotes() },
	},
	text("cheapest.carrier", lineSize, "Carrier of the cheapest offer.", `cheapest.carrier == "usps"`,
		func(s *scope) string { return s.offers[0].rate.Carrier }),
	text("cheapest.service", lineSize, "Service of the cheapest offer.", `cheapest.service == "ground"`,
		func(s *scope) string { return s.offers[0].rate.Service }),
	number("cheapest.amount", "Price of the cheapest offer.", `cheapest.amount > 40`,
		func(s *scope) float64 { return major(s.offers[0].rate.Price) }),
	integer("cheapest.days", "Transit days of the cheapest offer, 999 if unknown.", `cheapest.days > 5`,
		func(s *scope) int64 { return s.offers[0].days }),
	text("fastest.carrier", lineSize, "Carrier of the fastest offer; of several, the cheapest.", `fastest.carrier == "fedex"`,
		func(s *scope) string { return s.fastest().rate.Carrier }),
	text("fastest.service", lineSize, "Service of the fastest offer.", `fastest.service == "next_day"`,
		func(s *scope) string { return s.fastest().rate.Service }),
	number("fastest.amount", "Price of the fastest offer.", `fastest.amount < cheapest.amount * 1.2`,
		func(s *scope) float64 { return major(s.fastest().rate.Price) }),
	integer("fastest.days", "Transit days of the fastest offer, 999 if unknown.", `fastest.days <= 1`,
		func(s *scope) int64 { return s.fastest().days }),
}

// readsOffers are the groups that only Decide knows.
var readsOffers = map[string]bool{"quotes": true, "cheapest": true, "fastest": true}

// offerFields are what conditions read of an offer: the current one of the
// loop.
var offerFields = []variable{
	text("carrier", lineSize, "Carrier of the offer.", `quotes.exists(q, q.carrier == "ups")`,
		func(s *scope) string { return s.current.rate.Carrier }),
	text("service", lineSize, "Service of the offer.", `quotes.exists(q, q.service == "next_day")`,
		func(s *scope) string { return s.current.rate.Service }),
	text("connection", lineSize, "ID of the carrier connection that made the offer.", `quotes.exists(q, q.connection.startsWith("con_"))`,
		func(s *scope) string { return string(s.current.rate.Connection) }),
	number("amount", "Price, in the offer's currency.", `quotes.all(q, q.amount > 10)`,
		func(s *scope) float64 { return major(s.current.rate.Price) }),
	text("currency", codeSize, "Currency of the price.", `quotes.all(q, q.currency == "USD")`,
		func(s *scope) string { return s.current.rate.Price.Currency }),
	integer("days", "Days from the ship date to delivery, 999 if unknown.", `quotes.exists(q, q.days <= 2)`,
		func(s *scope) int64 { return s.current.days }),
	boolean("guaranteed", "Whether the carrier guarantees the delivery day.", `quotes.exists(q, q.guaranteed)`,
		func(s *scope) bool { return s.current.rate.Guaranteed }),
	text("date", codeSize, "Promised delivery day, empty if none.", `quotes.exists(q, q.date != "" && q.date <= "2026-12-24")`,
		func(s *scope) string { return promised(s.current.rate) }),
}

func promised(rate *ship.Rate) string {
	if rate.DeliveryAt.IsZero() {
		return ""
	}
	return string(ship.DateOf(rate.DeliveryAt))
}
