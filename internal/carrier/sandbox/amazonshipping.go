package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// amazonShipping delivers within the countries where Amazon sells the service to
// merchants. The real one also does in the United States. The simulated one does
// not, so that orders from there see the same offers as ever.
var amazonShipping = model{
	name: "amazon_shipping", title: "Amazon Shipping",
	origins: []string{"AE", "EG", "ES", "FR", "GB", "IN", "IT", "JP", "SA"},
	services: []service{
		{"same_day", "Amazon Shipping Same-Day", "", inside, 1150, 0, 95, 0, "1", 21, false, 10_000},
		{"one_day", "Amazon Shipping One-Day", "", inside, 790, 0, 85, 0, "1", 20, false, 0},
		{"two_day", "Amazon Shipping Two-Day", "", inside, 640, 0, 75, 0, "2", 20, false, 0},
		{"standard", "Amazon Shipping Standard", "", inside, 520, 0, 70, 0, "4", 20, false, 0},
	},
	unit: 500, volume: 5000, maxGrams: 22_680, maxSideMM: 1500, maxGirthMM: 3300,
	onePiece: true, daysAhead: 7, daysAbroad: 7, signature: 260, adult: 260, insurance: 150,
	cannotFind: true,
	abilities:  []string{"void"},
	number:     amazonNumber,
	refusals: refusals{
		address: "InvalidRequest", weight: "InvalidRequest", size: "InvalidRequest", lane: "InvalidRequest", service: "InvalidRequest",
		packaging: "InvalidRequest", value: "InvalidRequest", void: "InvalidRequest", date: "InvalidRequest", pieces: "InvalidRequest",
	},
	pointID: "AMZ-@@-#####",
	extras:  carrier.Extras{ship.ExtraServicePoint: carrier.EveryService},
	scans: scanCodes{
		pickedUp:  scanCode{"PickupDone", "Picked up"},
		departed:  scanCode{"Departed", "Departed from a location in the network"},
		arrived:   scanCode{"ArrivedAtCarrierFacility", "Received at a location in the network"},
		cleared:   scanCode{"ArrivedAtCarrierFacility", "Received at a location in the network"},
		out:       scanCode{"OutForDelivery", "Out for delivery"},
		delivered: scanCode{"Delivered", "Delivered"},
		unknown:   scanCode{"Unlisted", "Event Unlisted"},
		address:   scanCode{"Undeliverable", "Undeliverable: the address was not found"},
		weather:   scanCode{"Delayed", "Delayed by weather"},
		customs:   scanCode{"HeldByCustoms", "Held by customs"},
		refused:   scanCode{"Rejected", "Rejected by the recipient"},
		returning: scanCode{"ReturnInitiated", "Returning to sender"},
		damaged:   scanCode{"Damaged", "Damaged"},
		missed:    scanCode{"Lost", "Lost"},
	},
	hubs: [2]string{"Amazon Shipping Sort Center", "Amazon Shipping Sort Center"},
}

// amazonNumber is TBA and twelve digits. The numbers of other countries have no
// published form.
func amazonNumber(n uint64, _ *service) string {
	number := [15]byte{'T', 'B', 'A'}
	digits(number[3:], &n)
	return string(number[:])
}
