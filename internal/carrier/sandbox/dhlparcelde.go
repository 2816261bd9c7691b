package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// dhlParcelDE is the parcel service of Deutsche Post. The real one names no prices:
// they come from the rate sheet of the account, which has precedence here too. It
// does not collect parcels here.
var dhlParcelDE = model{
	name: "dhl_parcel_de", title: "DHL Parcel DE",
	origins: []string{"DE"},
	services: []service{
		{"paket", "DHL Paket", "", inside, 620, 0, 40, 0, "2", 18, false, 0},
		{"kleinpaket", "DHL Kleinpaket", "", inside, 395, 0, 0, 0, "2", 18, false, 1000},
		{"paket_international", "DHL Paket International", "CY", across, 1590, 480, 160, 90, "358", 18, false, 0},
		{"paket_international_premium", "DHL Paket International Premium", "CX", across, 1890, 560, 180, 100, "247", 18, false, 0},
		{"europaket", "DHL Europaket", "CE", across, 1290, 0, 120, 0, "300", 18, false, 0},
		{"warenpost_international", "DHL Warenpost International", "LX", across, 690, 210, 0, 0, "479", 18, false, 1000},
		{"warenpost_international_premium", "DHL Warenpost International Premium", "RX", across, 840, 240, 0, 0, "368", 18, false, 1000},
	},
	unit: 1000, volume: 1_000_000, maxGrams: 31_500, maxSideMM: 1200, maxGirthMM: 3600,
	onePiece: true, daysAhead: 30, daysAbroad: 30, signature: 170, adult: 170, insurance: 350,
	abilities: []string{"void"},
	number:    dhlParcelDENumber,
	refusals: refusals{
		address: "shipments[0].consignee", weight: "shipments[0].details.weight", size: "shipments[0].details.dim", lane: "shipments[0].product",
		service: "shipments[0].product", packaging: "shipments[0].details", value: "shipments[0].services.additionalInsurance",
		void: "shipment", date: "shipments[0].shipDate", pieces: "shipments",
	},
	pointID: "packstation-###",
	extras: carrier.Extras{
		ship.ExtraServicePoint:    {"paket", "kleinpaket"},
		ship.ExtraDirectSignature: {"paket"},
		ship.ExtraReturnService: {
			"paket_international", "paket_international_premium", "europaket", "warenpost_international", "warenpost_international_premium",
		},
		ship.ExtraCarbonNeutral: carrier.EveryService,
	},
	scans: scanCodes{
		pickedUp:  scanCode{"ES", "Handed over to DHL"},
		departed:  scanCode{"AA", "Departed from the parcel center of origin"},
		arrived:   scanCode{"EE", "Arrived in the parcel center of the destination"},
		cleared:   scanCode{"ZO/RSDCP", "Released from customs clearance"},
		out:       scanCode{"PO", "Loaded onto the delivery vehicle"},
		delivered: scanCode{"ZU", "Delivered"},
		unknown:   scanCode{"XX", "Event XX"},
		address:   scanCode{"BV/ALERT", "Address incomplete or wrong"},
		weather:   scanCode{"BV/MVTEX", "Delayed by weather"},
		customs:   scanCode{"ZO/HLDCU", "Held by customs"},
		refused:   scanCode{"ZN/DLVRF", "Refused by the recipient"},
		returning: scanCode{"ZN/RETRN", "Returning to sender"},
		damaged:   scanCode{"BV/DMGDS", "Damaged"},
		missed:    scanCode{"ZN/RCCLS", "Lost"},
	},
	hubs: [2]string{"Parcel Center Hamburg, DE", "International Mail Center Frankfurt, DE"},
}

// dhlParcelDENumber is 20 digits within Germany, and an S10 number abroad.
func dhlParcelDENumber(n uint64, sold *service) string {
	if sold.mark != "" {
		return postalNumber("DE")(n, sold)
	}

	number := [20]byte{'0', '0', '3', '4', '0'}
	digits(number[5:19], &n)
	number[19] = carrierkit.GS1CheckDigit(string(number[:19]))
	return string(number[:])
}
