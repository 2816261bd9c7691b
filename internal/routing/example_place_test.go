package routing

import "github.com/waybillhq/waybill/internal/ship"

// Rules about where parcels go and come from, and about the parcels.
var placeExamples = []example{
	{
		"Alaska and Hawaii by USPS", `destination.state in ["AK", "HI"]`,
		`{"prefer": [{"carrier": "usps"}], "tolerancePercent": 15}`,
		to("US", "AK", "Anchorage", "99501"), asUsual, "usps ground_advantage",
	},
	{
		"No DHL inside the country", `!order.international`,
		`{"forbid": [{"carrier": "dhl_express"}]}`,
		asUsual, to("CA", "ON", "Toronto", "M5V 2T6"), "usps ground_advantage",
	},
	{
		"Canada by UPS", `destination.country == "CA"`,
		`{"use": [{"carrier": "ups"}]}`,
		to("CA", "ON", "Toronto", "M5V 2T6"), asUsual, "ups ground",
	},
	{
		"Europe by DHL", `destination.country in ["DE", "FR", "IT", "ES", "NL", "BE", "AT", "PL", "SE", "DK"]`,
		`{"use": [{"carrier": "dhl_express"}, {"carrier": "ups"}]}`,
		to("DE", "", "Berlin", "10115"), to("GB", "", "London", "SW1A 1AA"), "dhl_express worldwide",
	},
	{
		"Zips of Alaska", `destination.country == "US" && destination.zip.startsWith("99")`,
		`{"use": [{"carrier": "usps", "service": "priority"}]}`,
		to("US", "AK", "Juneau", "99801"), to("US", "WA", "Seattle", "98101"), "usps priority",
	},
	{
		"New York City by FedEx", `destination.city.lowerAscii() == "new york"`,
		`{"use": [{"carrier": "fedex", "service": "home"}]}`,
		to("US", "NY", "New York", "10001"), to("US", "NY", "Albany", "12207"), "fedex home",
	},
	{
		"Homes by FedEx", `destination.residential`,
		`{"prefer": [{"carrier": "fedex", "service": "home"}], "tolerancePercent": 50}`,
		residential(true), residential(false), "fedex home",
	},
	{
		"Companies by UPS", `destination.company != "" && !destination.residential`,
		`{"prefer": [{"carrier": "ups"}], "toleranceAmount": "2.00"}`,
		asUsual, company(""), "ups ground",
	},
	{
		"Our shop is served by courier", `destination.company.upperAscii().contains("ACME") && destination.zip == "78701"`,
		`{"use": [{"carrier": "dhl_express", "connectionId": "con_dhl_express"}]}`,
		asUsual, company("Globex"), "dhl_express worldwide",
	},
	{
		"Toronto area", `destination.country == "CA" && destination.zip.matches("^[LM][0-9]")`,
		`{"choose": "fastest"}`,
		to("CA", "ON", "Toronto", "M5V 2T6"), to("CA", "BC", "Vancouver", "V6B 1A1"), "ups next_day",
	},
	{
		"Zone 8 from Reno", `origin.zip == "89502" && int(destination.zip) >= 99500`,
		`{"choose": "cheapest", "only": [{"carrier": "fedex"}, {"carrier": "ups"}]}`,
		to("US", "AK", "Anchorage", "99501"), to("CA", "ON", "Toronto", "M5V 2T6"), "ups ground",
	},
	{
		"The Canadian warehouse", `origin.country == "CA"`,
		`{"forbid": [{"carrier": "usps"}]}`,
		from("CA", "QC", "Montreal", "H2X 1Y4"), asUsual, "ups ground",
	},
	{
		"Inside one state the ground is enough", `origin.state == destination.state`,
		`{"use": [{"carrier": "usps", "service": "ground_advantage"}, {"carrier": "ups", "service": "ground"}]}`,
		to("US", "NV", "Las Vegas", "89101"), asUsual, "usps ground_advantage",
	},
	{
		"The Newark dock has FedEx only", `origin.city == "Newark" && origin.state == "NJ"`,
		`{"use": [{"carrier": "fedex"}]}`,
		from("US", "NJ", "Newark", "07102"), from("US", "DE", "Newark", "19711"), "fedex home",
	},
	{
		"The Reno warehouse has UPS only", `origin.location == "Reno warehouse"`,
		`{"use": [{"carrier": "ups"}]}`,
		fromLocation("Reno warehouse"), asUsual, "ups ground",
	},
	{
		"Three digit zones", `destination.zip.substring(0, 3) in ["787", "786"]`,
		`{"use": [{"carrier": "ups", "service": "ground"}]}`,
		asUsual, to("US", "TX", "Dallas", "75201"), "ups ground",
	},
	{
		"Army post offices", `destination.state in ["AA", "AE", "AP"] || destination.city.trim() in ["APO", "FPO", "DPO"]`,
		`{"use": [{"carrier": "usps"}]}`,
		to("US", "AE", "APO", "09012"), asUsual, "usps ground_advantage",
	},
}

var parcelExamples = []example{
	{
		"Heavy", `parcel.weightKg > 20`,
		`{"use": [{"carrier": "ups", "service": "ground"}, {"carrier": "fedex"}]}`,
		parcels(box(25, 40, 40, 40)), asUsual, "ups ground",
	},
	{
		"Under a pound by post", `parcel.weightOz < 16`,
		`{"use": [{"carrier": "usps", "service": "ground_advantage"}]}`,
		parcels(box(0.4, 20, 10, 5)), asUsual, "usps ground_advantage",
	},
	{
		"Over fifty pounds by FedEx", `parcel.weightLb > 50`,
		`{"use": [{"carrier": "fedex"}]}`,
		parcels(box(23, 40, 40, 40)), asUsual, "fedex home",
	},
	{
		"Letters", `parcel.weightGrams <= 100 && parcel.count == 1`,
		`{"use": [{"carrier": "usps"}]}`,
		parcels(box(0.1, 20, 10, 1)), asUsual, "usps ground_advantage",
	},
	{
		"One piece is too heavy for the post", `parcel.heaviestKg > 31.5`,
		`{"forbid": [{"carrier": "usps"}]}`,
		parcels(box(2, 20, 20, 20), box(32, 40, 40, 40)), parcels(box(20, 20, 20, 20), box(20, 40, 40, 40)), "ups ground",
	},
	{
		"Several pieces by UPS", `parcel.count > 1`,
		`{"use": [{"carrier": "ups"}]}`,
		parcels(box(2, 20, 20, 20), box(2, 20, 20, 20)), asUsual, "ups ground",
	},
	{
		"Average piece is light", `parcel.count >= 3 && parcel.weightKg / parcel.count < 1`,
		`{"choose": "cheapest", "only": [{"carrier": "usps"}]}`,
		parcels(box(0.5, 9, 9, 9), box(0.6, 9, 9, 9), box(0.7, 9, 9, 9)), parcels(box(1, 9, 9, 9), box(2, 9, 9, 9), box(3, 9, 9, 9)), "usps ground_advantage",
	},
	{
		"Long goods", `parcel.longestCm > 120`,
		`{"use": [{"carrier": "fedex"}]}`,
		parcels(box(2, 130, 10, 10)), asUsual, "fedex home",
	},
	{
		"Over four feet", `parcel.longestIn > 48`,
		`{"forbid": [{"carrier": "ups"}, {"carrier": "usps"}]}`,
		parcels(box(2, 10, 125, 10)), parcels(box(2, 10, 120, 10)), "fedex home",
	},
	{
		"Oversize for DHL", `parcel.girthCm > 300`,
		`{"use": [{"carrier": "dhl_express"}]}`,
		parcels(box(9, 100, 60, 50)), parcels(box(9, 100, 50, 50)), "dhl_express worldwide",
	},
	{
		"Over 130 inches by freight desk", `parcel.girthIn > 130`,
		`{"use": [{"carrier": "ups", "service": "ground"}]}`,
		parcels(box(9, 140, 60, 50)), parcels(box(9, 100, 50, 50)), "ups ground",
	},
	{
		"Large and light", `parcel.volumeCm3 > 60000 && parcel.weightKg < 5`,
		`{"use": [{"carrier": "usps"}]}`,
		parcels(box(3, 50, 50, 30)), parcels(box(8, 50, 50, 30)), "usps ground_advantage",
	},
	{
		"Flat rate envelopes", `parcel.packaging == "flat_rate_envelope"`,
		`{"use": [{"carrier": "usps", "service": "priority"}]}`,
		packed("flat_rate_envelope"), asUsual, "usps priority",
	},
	{
		"Without dimensions nothing dear", `!parcel.hasDimensions`,
		`{"forbid": [{"carrier": "dhl_express"}, {"carrier": "ups", "service": "next_day"}]}`,
		order(func(o *ship.Order) { o.Parcels[0].Dimensions = nil }), asUsual, "usps ground_advantage",
	},
}
