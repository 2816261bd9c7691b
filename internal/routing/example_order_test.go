package routing

// Rules about orders, the client's own values and the time.
var orderExamples = []example{
	{
		"Valuable goods need an adult", `order.insuredValue >= 500`,
		`{"require": {"signature": "adult"}}`,
		insured(50000, "USD"), insured(49999, "USD"), "adult",
	},
	{
		"Euros are insured by DHL", `order.insuredCurrency == "EUR" && order.insuredValue > 0`,
		`{"use": [{"carrier": "dhl_express"}]}`,
		insured(1000, "EUR"), insured(1000, "USD"), "dhl_express worldwide",
	},
	{
		"Wine", `metadata["goods"] == "wine"`,
		`{"require": {"signature": "adult"}}`,
		with("goods", "wine"), with("goods", "beer"), "adult",
	},
	{
		"Companies sign", `destination.company != "" && order.signature == ""`,
		`{"require": {"signature": "standard"}}`,
		asUsual, company(""), "standard",
	},
	{
		"Adults sign at FedEx", `order.signature == "adult"`,
		`{"use": [{"carrier": "fedex"}]}`,
		signed("adult"), signed("standard"), "fedex home",
	},
	{
		"Wholesale orders are shared", `order.id.startsWith("B2B-")`,
		`{"split": [{"carrier": "ups", "percent": 100}]}`,
		id("B2B-17"), asUsual, "ups ground",
	},
	{
		"Seventy thirty", `order.id.endsWith("01")`,
		`{"split": [{"carrier": "ups", "percent": 70}, {"carrier": "fedex", "service": "home", "percent": 30}]}`,
		asUsual, id("A-1002"), "ups ground",
	},
	{
		"Samples go the cheapest way", `order.reference.contains("SAMPLE")`,
		`{"choose": "cheapest"}`,
		refers("SAMPLE 4"), asUsual, "usps ground_advantage",
	},
	{
		"Long references are of the old shop", `size(order.reference) > 10`,
		`{"use": [{"carrier": "ups"}]}`,
		refers("OLD-SHOP-0000017"), asUsual, "ups ground",
	},
	{
		"Returns by post", `order.isReturn`,
		`{"use": [{"carrier": "usps", "service": "ground_advantage"}]}`,
		returned, asUsual, "usps ground_advantage",
	},
	{
		"Saturdays by UPS", `order.saturdayDelivery`,
		`{"use": [{"carrier": "ups", "service": "next_day"}]}`,
		saturday, asUsual, "ups next_day",
	},
	{
		"Two days left", `order.daysToDeliver >= 0 && order.daysToDeliver <= 2`,
		`{"choose": "cheapest", "withinDays": 2}`,
		dueBy("2026-03-06"), dueBy("2026-03-09"), "fedex 2day",
	},
	{
		"No hurry", `order.deliverBy == ""`,
		`{"choose": "cheapest"}`,
		asUsual, dueBy("2026-03-09"), "usps ground_advantage",
	},
	{
		"The last week before Christmas", `order.shipDate >= "2026-12-17" && order.shipDate <= "2026-12-24"`,
		`{"choose": "cheapest", "by": "2026-12-24"}`,
		both(shipped("2026-12-18"), offered(rate("usps", "priority", 1160, 300), rate("ups", "next_day", 4800, 3))), asUsual, "ups next_day",
	},
	{
		"Over the customs limit", `order.customsValue > 800`,
		`{"use": [{"carrier": "dhl_express"}]}`,
		declared("merchandise", 90000), declared("merchandise", 80000), "dhl_express worldwide",
	},
	{
		"Documents abroad", `order.international && order.contents == "documents"`,
		`{"choose": "fastest", "withinPercentOfCheapest": 200}`,
		both(to("GB", "", "London", "SW1A 1AA"), declared("documents", 0)), declared("documents", 0), "fedex 2day",
	},
	{
		"They pay for it", `order.billing == "third_party" || order.billing == "recipient"`,
		`{"use": [{"carrier": "ups"}]}`,
		billed("third_party"), asUsual, "ups ground",
	},
	{
		"Gold customers", `metadata.tier == "gold"`,
		`{"choose": "fastest", "withinPercentOfCheapest": 50}`,
		with("tier", "gold"), with("tier", "silver"), "fedex home",
	},
	{
		"Gifts are fast", `has(metadata.gift)`,
		`{"choose": "cheapest", "withinDaysOfFastest": 1}`,
		with("gift", ""), asUsual, "fedex 2day",
	},
	{
		"Marketplace orders", `metadata["channel"] in ["amazon", "ebay", "walmart"] && metadata["prime"] != "no"`,
		`{"choose": "cheapest", "withinDays": 3}`,
		with("channel", "ebay"), asUsual, "fedex home",
	},
	{
		"Warehouse codes of two digits", `metadata["warehouse"].matches("^W[0-9]{2}$")`,
		`{"use": [{"carrier": "fedex"}]}`,
		with("warehouse", "W07"), with("warehouse", "W7"), "fedex home",
	},
	{
		"Anything cold", `metadata.exists(k, k.startsWith("cold"))`,
		`{"choose": "fastest"}`,
		with("cold_chain", "yes"), with("chain", "cold"), "ups next_day",
	},
	{
		"Many units", `metadata["units"] != "" && double(metadata["units"]) >= 12`,
		`{"use": [{"carrier": "ups"}]}`,
		with("units", "12.5"), with("units", "a dozen"), "ups ground",
	},
	{
		"The week's end", `time.weekday in ["saturday", "sunday"]`,
		`{"forbid": [{"carrier": "usps"}]}`,
		now("2026-03-07 12:00"), asUsual, "ups ground",
	},
	{
		"After the last pick-up", `time.hour >= 16`,
		`{"use": [{"carrier": "fedex", "service": "2day"}]}`,
		now("2026-03-04 16:05"), asUsual, "fedex 2day",
	},
	{
		"Strike at UPS", `time.date >= "2026-08-01" && time.date < "2026-08-08"`,
		`{"forbid": [{"carrier": "ups"}]}`,
		now("2026-08-03 09:00"), now("2026-08-08 00:00"), "usps ground_advantage",
	},
	{
		"Peak season", `time.month in [11, 12]`,
		`{"prefer": [{"carrier": "fedex"}, {"carrier": "ups"}], "tolerancePercent": 25, "toleranceAmount": "3.00"}`,
		now("2026-12-01 09:00"), asUsual, "ups ground",
	},
	{
		"Nothing sleeps over the week's end", `ship.weekday == "friday"`,
		`{"use": [{"carrier": "ups", "service": "next_day"}]}`,
		shipped("2026-03-06"), asUsual, "ups next_day",
	},
	{
		"The hundredth order", `string(parcel.count) + order.id == "1A-1100"`,
		`{"choose": "fastest"}`,
		id("A-1100"), asUsual, "ups next_day",
	},
}
