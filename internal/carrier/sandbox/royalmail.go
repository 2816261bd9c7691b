package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// royalMail is the post of the United Kingdom. The real one names no prices: they
// come from the rate sheet of the account, which has precedence here too.
var royalMail = model{
	name: "royal_mail", title: "Royal Mail",
	origins: []string{"GB"},
	packagings: []carrier.Packaging{
		{Code: "letter", Name: "Letter"},
		{Code: "large_letter", Name: "Large Letter"},
		{Code: "small_parcel", Name: "Small Parcel"},
		{Code: "medium_parcel", Name: "Medium Parcel"},
	},
	services: []service{
		{"tracked_24", "Royal Mail Tracked 24", "TT", inside, 495, 0, 62, 0, "1", 18, false, 0},
		{"tracked_48", "Royal Mail Tracked 48", "TQ", inside, 385, 0, 48, 0, "2", 18, false, 0},
		{"special_delivery_1pm_750", "Royal Mail Special Delivery Guaranteed by 1pm (750 GBP)", "SB", inside, 945, 0, 90, 0, "1", 13, true, 0},
		{"international_tracked", "Royal Mail International Tracked", "LA", across, 1190, 310, 260, 70, "467", 18, false, 2000},
		{"international_tracked_signed", "Royal Mail International Tracked & Signed", "RN", across, 1340, 330, 270, 70, "467", 18, false, 2000},
	},
	unit: 500, volume: 1_000_000, maxGrams: 20_000, maxSideMM: 610, maxGirthMM: 2450,
	onePiece: true, daysAhead: 14, daysAbroad: 14, signature: 120, adult: 310, insurance: 90,
	abilities: []string{"void", "manifests", "proof"},
	manifest:  carrier.AllOfTheDay,
	number:    postalNumber("GB"),
	refusals: refusals{
		address: "6", weight: "10", size: "12", lane: "21", service: "20", packaging: "11",
		value: "30", void: "OrderManifested", date: "2", pieces: "9", manifest: "NoEligibleOrders",
	},
	extras: carrier.Extras{
		ship.ExtraHoldAtLocation: {"tracked_24", "tracked_48", "special_delivery_1pm_750"},
	},
	scans: scanCodes{
		pickedUp:  scanCode{"EVAIP", "Item received"},
		departed:  scanCode{"EVDAC", "Item at mail centre"},
		arrived:   scanCode{"EVBAH", "Item at national parcel hub"},
		cleared:   scanCode{"EVIAV", "Item cleared customs"},
		out:       scanCode{"EVGPD", "Out for delivery"},
		delivered: scanCode{"EVKSP", "Delivered and signed"},
		unknown:   scanCode{"EVZZZ", "Event EVZZZ"},
		address:   scanCode{"EVKAI", "Address not identified"},
		weather:   scanCode{"EVNDN", "Delayed by weather"},
		customs:   scanCode{"EVCHD", "Held by customs"},
		refused:   scanCode{"EVKRF", "Refused by the recipient"},
		returning: scanCode{"EVKGA", "Returning to sender"},
		damaged:   scanCode{"EVDMG", "Damaged"},
		missed:    scanCode{"EVLST", "Lost"},
	},
	hubs: [2]string{"Midlands Super Hub, GB", "Heathrow Worldwide Distribution Centre, GB"},
}

// postalNumber returns a maker of S10 numbers: two letters of the service, eight
// digits with their check digit, and the country.
func postalNumber(country string) func(uint64, *service) string {
	return func(n uint64, sold *service) string {
		var number [13]byte
		copy(number[:2], sold.mark)
		digits(number[2:10], &n)
		number[10] = carrierkit.S10CheckDigit(string(number[2:10]))
		copy(number[11:], country)
		return string(number[:])
	}
}
