package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// gls is the group platform of GLS, in the countries that it names. The real one
// quotes no prices: they come from the rate sheet of the account, which has
// precedence here too.
var gls = model{
	name: "gls", title: "GLS",
	origins: []string{"AT", "BE", "DE", "DK", "FI", "IE", "LU"},
	services: []service{
		{"parcel", "GLS Parcel", "", inside | across, 690, 0, 55, 0, "200", 18, false, 0},
		{"guaranteed24", "GLS Guaranteed24", "", inside, 1190, 0, 60, 0, "1", 18, true, 0},
		{"express", "GLS Express", "", inside | across, 2150, 0, 120, 0, "100", 17, true, 0},
		{"express_8", "GLS Express 8:00", "", inside, 4990, 0, 120, 0, "1", 8, true, 0},
		{"express_9", "GLS Express 9:00", "", inside, 3890, 0, 120, 0, "1", 9, true, 0},
		{"express_10", "GLS Express 10:00", "", inside, 2990, 0, 120, 0, "1", 10, true, 0},
		{"express_12", "GLS Express 12:00", "", inside, 2490, 0, 120, 0, "1", 12, true, 0},
	},
	unit: 1000, volume: 1_000_000, maxGrams: 40_000, maxSideMM: 2000, maxGirthMM: 3000,
	daysAhead: 10, daysAbroad: 10, signature: 190, adult: 190, saturday: 1450, insurance: 210,
	abilities: []string{"void", "proof", "points"},
	number:    glsNumber,
	refusals: refusals{
		address: "COMMON_ADDRESS", weight: "ARTICLE_WEIGHT", size: "ARTICLE_DIMENSION", lane: "ARTICLE_COUNTRY", service: "ARTICLE_UNKNOWN",
		packaging: "ARTICLE_PACKAGING", value: "ARTICLE_LIABILITY", void: "PARCEL_SCANNED", date: "SHIPPING_DATE", pieces: "SHIPMENT_UNITS",
	},
	points:  [3]string{"GLS Parcel Shop Corner Market", "GLS Depot", "GLS Parcel Locker"},
	pointID: "276#######",
	extras: carrier.Extras{
		ship.ExtraServicePoint:    {"parcel"},
		ship.ExtraDirectSignature: carrier.EveryService,
		ship.ExtraCOD:             {"parcel"},
	},
	scans: scanCodes{
		pickedUp:  scanCode{"0.0", "The parcel was handed over to GLS"},
		departed:  scanCode{"1.0", "The parcel has left the parcel center"},
		arrived:   scanCode{"2.0", "The parcel has reached the parcel center"},
		cleared:   scanCode{"2.29", "The parcel has reached the country of its destination"},
		out:       scanCode{"11.0", "The parcel is in the delivery vehicle"},
		delivered: scanCode{"3.0", "The parcel has been delivered"},
		unknown:   scanCode{"99.99", "Event 99.99"},
		address:   scanCode{"4.40", "The address cannot be found"},
		weather:   scanCode{"4.30", "The delivery is delayed by weather"},
		customs:   scanCode{"4.13", "The parcel is held by customs"},
		refused:   scanCode{"8.0", "The recipient has refused the parcel"},
		returning: scanCode{"4.0", "The parcel is returned to the sender"},
		damaged:   scanCode{"4.50", "The parcel is damaged"},
		missed:    scanCode{"4.60", "The parcel cannot be found"},
	},
	hubs: [2]string{"Neuenstein, DE", "Essen, DE"},
}

// glsNumber is eleven digits and their check digit, which is that of GS1 with one
// added to the sum.
func glsNumber(n uint64, _ *service) string {
	var number [12]byte
	digits(number[:11], &n)
	check := carrierkit.GS1CheckDigit(string(number[:11])) - '0'
	number[11] = '0' + (check+9)%10
	return string(number[:])
}
