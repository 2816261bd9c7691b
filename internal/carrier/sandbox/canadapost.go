package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// canadaPost is the post of Canada. Unlike the real one, it voids at once.
var canadaPost = model{
	name: "canada_post", title: "Canada Post",
	origins: []string{"CA"},
	services: []service{
		{"regular_parcel", "Canada Post Regular Parcel", "", inside, 1190, 0, 70, 0, "6", 18, false, 0},
		{"expedited_parcel", "Canada Post Expedited Parcel", "", inside, 1080, 0, 60, 0, "4", 18, false, 0},
		{"xpresspost", "Canada Post Xpresspost", "", inside, 1620, 0, 105, 0, "2", 18, true, 0},
		{"priority", "Canada Post Priority", "", inside, 2760, 0, 195, 0, "1", 12, true, 0},
		{"tracked_packet_international", "Canada Post Tracked Packet International", "LM", across, 2120, 500, 450, 60, "067", 18, false, 2000},
		{"xpresspost_international", "Canada Post Xpresspost International", "EM", across, 4690, 500, 440, 60, "045", 18, true, 0},
	},
	unit: 500, volume: 5000, maxGrams: 30_000, maxSideMM: 2000, maxGirthMM: 3000,
	onePiece: true, daysAhead: 30, daysAbroad: 30, signature: 195, adult: 195, insurance: 250,
	abilities: []string{"void"},
	number:    canadaPostNumber,
	refusals: refusals{
		address: "9115", weight: "9151", size: "9152", lane: "7260", service: "7260", packaging: "9153",
		value: "7261", void: "7292", date: "9110", pieces: "9122",
	},
	extras: carrier.Extras{
		ship.ExtraHoldAtLocation: {"regular_parcel", "expedited_parcel", "xpresspost", "priority"},
	},
	scans: scanCodes{
		pickedUp:  scanCode{"2300", "Item picked up by Canada Post"},
		departed:  scanCode{"0100", "Item processed"},
		arrived:   scanCode{"0400", "Item arrived"},
		cleared:   scanCode{"0900", "Item released by customs"},
		out:       scanCode{"0500", "Item out for delivery"},
		delivered: scanCode{"1408", "Item successfully delivered"},
		unknown:   scanCode{"9999", "Event 9999"},
		address:   scanCode{"0120", "Item held, address incomplete"},
		weather:   scanCode{"0159", "Possible delay due to weather"},
		customs:   scanCode{"0127", "Item held by customs"},
		refused:   scanCode{"1417", "Item refused by recipient"},
		returning: scanCode{"1415", "Item being returned to sender"},
		damaged:   scanCode{"0710", "Item arrived damaged"},
		missed:    scanCode{"0179", "Item cannot be delivered"},
	},
	hubs: [2]string{"Mississauga, ON, CA", "Frankfurt, DE"},
}

// canadaPostNumber is sixteen digits within Canada, and an S10 number abroad.
func canadaPostNumber(n uint64, sold *service) string {
	if sold.mark != "" {
		return postalNumber("CA")(n, sold)
	}

	var number [16]byte
	digits(number[:15], &n)
	number[15] = carrierkit.GS1CheckDigit(string(number[:15]))
	return string(number[:])
}
