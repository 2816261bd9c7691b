package routing

import "github.com/waybillhq/waybill/internal/ship"

// abroad is an offer in another currency.
func abroad(r ship.Rate, currency string) ship.Rate {
	r.Price.Currency = currency
	return r
}

// Rules about the offers.
var offerExamples = []example{
	{
		"Fast enough by UPS", `quotes.exists(q, q.carrier == "ups" && q.days <= 1)`,
		`{"use": [{"carrier": "ups"}]}`,
		asUsual, offered(rate("ups", "ground", 1020, 4), rate("fedex", "2day", 900, 2)), "ups ground",
	},
	{
		"Everything is dear", `quotes.all(q, q.amount > 40)`,
		`{"choose": "cheapest", "only": [{"carrier": "dhl_express"}]}`,
		offered(rate("ups", "ground", 4500, 4), rate("dhl_express", "worldwide", 5000, 2)), asUsual, "dhl_express worldwide",
	},
	{
		"The cheapest is dear", `cheapest.amount > 40`,
		`{"choose": "fastest"}`,
		offered(rate("ups", "ground", 4500, 4), rate("ups", "next_day", 9000, 1)), asUsual, "ups next_day",
	},
	{
		"The cheapest is slow", `cheapest.days > 5`,
		`{"choose": "cheapest", "withinDays": 5}`,
		offered(rate("usps", "media", 400, 9), rate("ups", "ground", 1020, 4)), asUsual, "ups ground",
	},
	{
		"The post is cheapest on the ground", `cheapest.carrier == "usps" && cheapest.service == "ground_advantage"`,
		`{"prefer": [{"carrier": "ups", "service": "ground"}], "toleranceAmount": "1.80"}`,
		asUsual, offered(rate("usps", "priority", 700, 3), rate("ups", "ground", 1020, 4)), "ups ground",
	},
	{
		"Speed is nearly free", `fastest.amount < cheapest.amount * 1.2`,
		`{"choose": "fastest"}`,
		offered(rate("ups", "ground", 1000, 4), rate("fedex", "2day", 1150, 2)), asUsual, "fedex 2day",
	},
	{
		"Tomorrow by UPS", `fastest.carrier == "ups" && fastest.service == "next_day" && fastest.days <= 1`,
		`{"use": [{"carrier": "ups", "service": "next_day"}]}`,
		asUsual, offered(rate("fedex", "2day", 1150, 2)), "ups next_day",
	},
	{
		"Guaranteed", `quotes.exists(q, q.guaranteed && q.amount < 50) && metadata["sla"] == "1"`,
		`{"choose": "fastest"}`,
		with("sla", "1"), both(with("sla", "1"), offered(rate("ups", "ground", 1000, 4))), "ups next_day",
	},
	{
		"Before the fair", `quotes.exists(q, q.date != "" && q.date <= "2026-03-06") && order.reference == "FAIR"`,
		`{"choose": "cheapest", "by": "2026-03-06"}`,
		refers("FAIR"), both(refers("FAIR"), offered(rate("ups", "ground", 1000, 4))), "fedex 2day",
	},
	{
		"The new contract", `quotes.exists(q, q.connection == "con_fedex" && q.service == "home")`,
		`{"use": [{"carrier": "fedex", "connectionId": "con_fedex"}]}`,
		asUsual, offered(rate("ups", "ground", 1000, 4)), "fedex home",
	},
	{
		"Someone quotes in dollars of Canada", `quotes.exists(q, q.currency == "CAD")`,
		`{"forbid": [{"carrier": "canpar"}]}`,
		offered(abroad(rate("canpar", "ground", 900, 3), "CAD"), rate("ups", "ground", 1000, 4)), asUsual, "ups ground",
	},
	{
		"One carrier alone", `size(quotes.filter(q, q.carrier != "ups")) == 0`,
		`{"choose": "cheapest", "withinDaysOfFastest": 0}`,
		offered(rate("ups", "ground", 1000, 4), rate("ups", "next_day", 4800, 1)), asUsual, "ups next_day",
	},
	{
		"Exactly one arrives in two days", `quotes.exists_one(q, q.days == 2)`,
		`{"choose": "cheapest", "withinDays": 2}`,
		offered(rate("ups", "ground", 1000, 4), rate("fedex", "2day", 2150, 2)), asUsual, "fedex 2day",
	},
	{
		"Premium abroad", `order.international ? fastest.days <= 3 : fastest.days <= 1 && cheapest.amount > 20`,
		`{"choose": "fastest"}`,
		to("GB", "", "London", "SW1A 1AA"), asUsual, "ups next_day",
	},
}
