package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// postNL is the post of the Netherlands. The real one names no prices: they come
// from the rate sheet of the account, which has precedence here too.
var postNL = model{
	name: "postnl", title: "PostNL",
	origins: []string{"NL"},
	services: []service{
		{"standard", "PostNL Parcel", "", inside, 595, 0, 45, 0, "1", 18, false, 0},
		{"signature", "PostNL Parcel with Signature", "", inside, 745, 0, 45, 0, "1", 18, false, 0},
		{"eu_parcel", "PostNL Parcel EU", "", across, 1095, 0, 110, 0, "300", 18, false, 0},
	},
	unit: 1000, volume: 1_000_000, maxGrams: 31_500, maxSideMM: 1760, maxGirthMM: 4000,
	onePiece: true, daysAhead: 14, daysAbroad: 14, signature: 150, adult: 250, insurance: 120,
	abilities: []string{"proof"},
	number:    postNLNumber,
	refusals: refusals{
		address: "1280202", weight: "1280005", size: "1280006", lane: "1280302", service: "1280301", packaging: "1280008",
		value: "1280303", void: "1280401", date: "1280009", pieces: "1280003",
	},
	extras: carrier.Extras{ship.ExtraIndirectSignature: {"signature"}},
	scans: scanCodes{
		pickedUp:  scanCode{"3", "Shipment collected"},
		departed:  scanCode{"5", "Shipment sorted"},
		arrived:   scanCode{"21", "Shipment in storage"},
		cleared:   scanCode{"20", "Shipment in clearance process"},
		out:       scanCode{"7", "Shipment out for delivery"},
		delivered: scanCode{"11", "Shipment delivered"},
		unknown:   scanCode{"98", "Status 98"},
		address:   scanCode{"8", "Shipment not delivered"},
		weather:   scanCode{"6", "Shipment not sorted"},
		customs:   scanCode{"9", "Shipment at customs"},
		refused:   scanCode{"19", "Shipment rejected"},
		returning: scanCode{"24", "Returning to sender"},
		damaged:   scanCode{"25", "Shipment damaged"},
		missed:    scanCode{"18", "Definitely missing"},
	},
	hubs: [2]string{"Amersfoort, NL", "Schiphol, NL"},
}

// postNLNumber is 3S, a customer code and nine digits.
func postNLNumber(n uint64, _ *service) string {
	number := [15]byte{'3', 'S', 'S', 'A', 'M', 'P'}
	digits(number[6:], &n)
	return string(number[:])
}
