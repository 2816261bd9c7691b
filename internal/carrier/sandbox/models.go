package sandbox

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// model is a simulated carrier as data.
type model struct {
	name, title string
	origins     []string // countries that it takes parcels from; empty: any
	packagings  []carrier.Packaging
	services    []service

	unit        int64 // grams that are charged for together
	lightUnit   int64 // the same for parcels below one unit; 0: none
	volume      int64 // cubic millimetres that count as a gram
	maxGrams    int64 // of one piece
	maxSideMM   int64 // the longest side
	maxGirthMM  int64 // length and girth together
	domesticUS  bool  // takes parcels only from the United States
	onePiece    bool  // sells every parcel as a label of its own
	daysAhead   int   // how far ahead labels are sold
	daysAbroad  int   // likewise across a border
	residential int64 // cents a piece, for delivery to a home
	signature   int64 // cents, for a signature
	adult       int64 // cents, for the signature of an adult
	saturday    int64 // cents, for delivery on a Saturday
	insurance   int64 // cents for each 100 dollars above the first

	// abilities are those besides quotes, purchases and look-ups, by their names
	// in carrier.Carrier.Abilities. The carriers of abilities.go have none
	// here: theirs are methods.
	abilities  []string
	cannotFind bool // has no look-ups: a purchase whose answer is lost needs review

	onePickup bool  // keeps one pickup for a place and a day
	pickupFee int64 // cents for a pickup; 0: the carrier names no price
	manifest  carrier.ManifestScope
	uploads   carrier.DocumentPolicy
	closes    []string  // services that its manifest covers; nil: all
	points    [3]string // names of its service points, as in pointKinds
	pointID   string    // pattern of their ids, for pointID
	extras    carrier.Extras

	number   func(seed uint64, s *service) string
	pickup   func(seed uint64, order *ship.PickupOrder) (confirmation, details string)
	refusals refusals
	scans    scanCodes
	hubs     [2]string // at home, abroad
}

// refusals are the carrier's error codes.
type refusals struct {
	address, weight, size, lane, service, packaging, value, void, date, pieces string

	window, cancel, manifest, document string
}

// reach says where a service goes: a set.
type reach uint8

const (
	usa     reach = 1 << iota // inside the United States
	inside                    // inside any other country
	across                    // across a border
	homes                     // only to homes
	offices                   // not to homes
)

// service is a way to send a parcel. Prices are in cents for the nearest zone;
// each zone further adds its part.
type service struct {
	code, name    string
	mark          string // service digits in the number
	reach         reach
	base, farther int64
	unit, longer  int64  // for each unit of weight
	days          string // transit days by zone, one digit each; "0" if it does not go there
	hour          int    // of delivery
	express       bool   // guaranteed, and not on Saturdays unless asked for
	maxGrams      int64  // of one piece, if less than the carrier's own limit
}

const (
	pound = 454 // grams: weights are stored rounded up, so this never counts a pound twice
	inch  = 254 // tenths of a millimetre
)

var models = [...]model{
	{
		name: "ups", title: "UPS",
		packagings: []carrier.Packaging{
			{Code: "ups_letter", Name: "UPS Letter"},
			{Code: "ups_pak", Name: "UPS Pak"},
			{Code: "ups_tube", Name: "UPS Tube"},
			{Code: "ups_express_box", Name: "UPS Express Box"},
		},
		services: []service{
			{"ground", "UPS Ground", "03", usa, 1045, 48, 42, 11, "12344557", 19, false, 0},
			{"three_day_select", "UPS 3 Day Select", "12", usa, 1480, 210, 85, 28, "33333330", 19, true, 0},
			{"second_day_air", "UPS 2nd Day Air", "02", usa, 2050, 260, 130, 38, "22222223", 19, true, 0},
			{"next_day_air_saver", "UPS Next Day Air Saver", "13", usa, 3480, 520, 210, 52, "11111110", 15, true, 0},
			{"next_day_air", "UPS Next Day Air", "01", usa, 3910, 560, 225, 55, "11111112", 10, true, 0},
			{"standard", "UPS Standard", "68", inside | across, 1390, 0, 98, 0, "300", 19, false, 0},
			{"express_saver", "UPS Express Saver", "65", inside, 2450, 0, 110, 0, "1", 18, true, 0},
			{"worldwide_saver", "UPS Worldwide Saver", "04", across, 6480, 1490, 365, 120, "234", 19, true, 0},
			{"worldwide_express", "UPS Worldwide Express", "66", across, 6990, 1620, 390, 130, "123", 12, true, 0},
		},
		unit: pound, volume: 5022, maxGrams: 68_039, maxSideMM: 108 * inch / 10, maxGirthMM: 165 * inch / 10,
		daysAhead: 7, daysAbroad: 7, residential: 545, signature: 625, adult: 775, saturday: 1600, insurance: 135,
		onePickup: true, pickupFee: 1250,
		number: upsNumber, pickup: upsPickup,
		uploads: carrier.DocumentPolicy{Types: ship.UploadTypes},
		refusals: refusals{
			address: "120802", weight: "111035", size: "111055", lane: "111210", service: "111100", packaging: "111500",
			value: "120500", void: "190102", date: "120900",
			window: "9560131", cancel: "9510114", document: "9590010",
		},
		points:  [3]string{"UPS Access Point Corner Market", "The UPS Store", "UPS Access Point Locker"},
		pointID: "U########",
		extras:  upsExtras,
		scans:   upsScans, hubs: [2]string{"Louisville, KY, US", "Cologne, DE"},
	},
	{
		name: "usps", title: "USPS",
		packagings: []carrier.Packaging{
			{Code: "flat_rate_envelope", Name: "Flat Rate Envelope"},
			{Code: "small_flat_rate_box", Name: "Small Flat Rate Box"},
			{Code: "medium_flat_rate_box", Name: "Medium Flat Rate Box"},
			{Code: "large_flat_rate_box", Name: "Large Flat Rate Box"},
		},
		services: []service{
			{"ground_advantage", "USPS Ground Advantage", "001", usa, 455, 38, 52, 17, "23344556", 20, false, 0},
			{"priority_mail", "USPS Priority Mail", "055", usa, 845, 60, 62, 33, "12233334", 20, false, 0},
			{"priority_mail_express", "USPS Priority Mail Express", "701", usa, 2985, 310, 180, 45, "11111122", 18, true, 0},
			{"first_class_package_international", "USPS First-Class Package International", "801", across, 1520, 160, 410, 60, "799", 20, false, 1815},
			{"priority_mail_international", "USPS Priority Mail International", "821", across, 3180, 640, 290, 110, "678", 20, false, 0},
			{"priority_mail_express_international", "USPS Priority Mail Express International", "811", across, 4760, 820, 340, 120, "345", 20, true, 0},
		},
		unit: pound, lightUnit: 114, volume: 5997, maxGrams: 31_752, maxSideMM: 108 * inch / 10, maxGirthMM: 130 * inch / 10,
		onePiece: true, daysAhead: 45, daysAbroad: 7, domesticUS: true, signature: 385, adult: 925, saturday: 0, insurance: 140,
		onePickup: true, manifest: carrier.ListedLabels,
		number: uspsNumber, pickup: uspsPickup,
		refusals: refusals{
			address: "010004", weight: "160117", size: "160118", lane: "160002", service: "160013", packaging: "160021",
			value: "160300", void: "160805", date: "160001", pieces: "160009",
			window: "020011", cancel: "020015", manifest: "160160",
		},
		points:  [3]string{"Main Post Office", "Market Street Station", "USPS Parcel Locker"},
		pointID: "1######",
		extras:  uspsExtras,
		scans:   uspsScans, hubs: [2]string{"Indianapolis, IN, US", "International Distribution Center, US"},
	},
	{
		name: "fedex", title: "FedEx",
		packagings: []carrier.Packaging{
			{Code: "fedex_envelope", Name: "FedEx Envelope"},
			{Code: "fedex_pak", Name: "FedEx Pak"},
			{Code: "fedex_box", Name: "FedEx Box"},
			{Code: "fedex_tube", Name: "FedEx Tube"},
		},
		services: []service{
			{"ground", "FedEx Ground", "", usa | offices, 1052, 47, 41, 11, "12344557", 19, false, 0},
			{"home_delivery", "FedEx Home Delivery", "", usa | homes, 1098, 48, 42, 11, "12344557", 20, false, 0},
			{"express_saver", "FedEx Express Saver", "", usa, 1510, 205, 82, 28, "33333330", 17, true, 0},
			{"two_day", "FedEx 2Day", "", usa, 2010, 255, 128, 38, "22222223", 17, true, 0},
			{"standard_overnight", "FedEx Standard Overnight", "", usa, 3390, 510, 205, 52, "11111112", 15, true, 0},
			{"priority_overnight", "FedEx Priority Overnight", "", usa, 3860, 550, 222, 55, "11111112", 10, true, 0},
			{"economy", "FedEx Economy", "", inside, 1490, 0, 88, 0, "2", 18, false, 0},
			{"priority", "FedEx Priority", "", inside, 2290, 0, 115, 0, "1", 18, true, 0},
			{"international_economy", "FedEx International Economy", "", across, 5890, 1310, 330, 110, "456", 18, false, 0},
			{"international_priority", "FedEx International Priority", "", across, 6590, 1540, 372, 125, "233", 18, true, 0},
		},
		unit: pound, volume: 5022, maxGrams: 68_039, maxSideMM: 119 * inch / 10, maxGirthMM: 165 * inch / 10,
		daysAhead: 10, daysAbroad: 10, residential: 565, signature: 640, adult: 790, saturday: 1600, insurance: 135,
		manifest: carrier.AllOfTheDay, closes: []string{"ground", "home_delivery"},
		number: fedexNumber, pickup: fedexPickup,
		uploads: carrier.DocumentPolicy{Types: ship.UploadTypes, Announced: true},
		refusals: refusals{
			address: "RECIPIENT.ADDRESS.INVALID", weight: "PACKAGE.WEIGHT.EXCEEDED", size: "PACKAGE.DIMENSIONS.EXCEEDED",
			lane: "SERVICE.LANE.INVALID", service: "SERVICE.TYPE.INVALID", packaging: "PACKAGINGTYPE.MISSING.OR.INVALID",
			value: "DECLAREDVALUE.CURRENCY.INVALID", void: "SHIPMENT.CANCEL.NOTALLOWED", date: "SHIPMENT.SHIPDATE.INVALID",
			window: "PICKUP.REQUESTED.PREVIOUS.DAY", cancel: "PICKUP.NUMBER.EXPIRED", manifest: "SHIPMENT.CLOSE.NOTALLOWED", document: "1001",
		},
		points:  [3]string{"FedEx OnSite Corner Market", "FedEx Office Print & Ship Center", "FedEx Self-Service Locker"},
		pointID: "@@@@@",
		extras:  fedexExtras,
		scans:   fedexScans, hubs: [2]string{"Memphis, TN, US", "Paris, FR"},
	},
	{
		name: "dhl_express", title: "DHL Express",
		packagings: []carrier.Packaging{
			{Code: "dhl_envelope", Name: "Express Envelope"}, {Code: "dhl_flyer", Name: "Express Flyer"}, {Code: "dhl_jumbo_box", Name: "Jumbo Box"},
		},
		services: []service{
			// The real carrier has left some domestic markets. The simulated
			// one serves all, so that every test order can see it.
			{"express_domestic", "DHL Express Domestic", "", usa | inside, 2890, 180, 190, 30, "11111222", 18, true, 0},
			{"express_domestic_12", "DHL Express Domestic 12:00", "", usa | inside, 3690, 210, 205, 32, "11111200", 12, true, 0},
			{"express_worldwide", "DHL Express Worldwide", "", across, 6120, 1380, 420, 140, "223", 18, true, 0},
			{"express_12", "DHL Express 12:00", "", across, 7380, 1490, 440, 145, "120", 12, true, 0},
		},
		unit: 500, volume: 5000, maxGrams: 70_000, maxSideMM: 3000, maxGirthMM: 6000,
		daysAhead: 10, daysAbroad: 10, residential: 620, signature: 700, adult: 950, saturday: 2000, insurance: 180,
		number: dhlNumber, pickup: dhlPickup,
		uploads: carrier.DocumentPolicy{Types: []string{"commercial_invoice", "certificate_of_origin", "declaration"}},
		refusals: refusals{
			address: "3003", weight: "8003", size: "8004", lane: "1001", service: "998", packaging: "420505",
			value: "420504", void: "9010", date: "998",
			window: "998", cancel: "9011", document: "1504",
		},
		points:  [3]string{"DHL Express ServicePoint Corner Market", "DHL Express ServicePoint", "DHL Express Locker"},
		pointID: "@@@###",
		extras:  dhlExtras,
		scans:   dhlScans, hubs: [2]string{"Cincinnati, OH, US", "Leipzig, DE"},
	},
	royalMail,
	postNL,
	canadaPost,
	dhlParcelDE,
	gls,
	amazonShipping,
}
