// Package ups is the driver of UPS: quotes, labels, look-ups, voids, tracking, checks
// of addresses, pickups, proofs of delivery, Access Points and estimates of duties over
// its REST API, and the pushes of its Track Alert. It makes one attempt per call, keeps
// no state but its token, and logs nothing.
package ups

import (
	"maps"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes UPS. Its addresses end in /api, as all paths but the token's
// begin with it.
var Spec = carrier.Spec{
	Name:    "ups",
	Title:   "UPS",
	Mark:    carrier.Mark{Background: "#4b2e1a", Text: "#ffc44d"},
	LiveURL: "https://onlinetools.ups.com/api",
	TestURL: "https://wwwcie.ups.com/api",
	Fields: []carrier.Field{
		{
			Name: "client_id", Title: "Client ID", Required: true,
			Help: "At developer.ups.com open Apps, choose the app (or add one with the products Authorization, Rating, Shipping, Tracking, Address Validation, Pickup, Locator, Landed Cost and Paperless Documents), and copy the Client ID from its credentials.",
		},
		{
			Name: "client_secret", Title: "Client secret", Secret: true, Required: true,
			Help: "Shown next to the Client ID of the same app.",
		},
		{
			Name: "account_number", Title: "Account number", Required: true,
			Help: "Six letters and digits, also called the shipper number: at ups.com under Profile, Accounts and Payment, or on an invoice. The account must be added to the app.",
		},
		{
			Name: "pickup_address", Title: "Pickup address of the account",
			Help: "Street and postal code of the account's own pickup address at UPS, such as 1 Main St, 90012. Pickups there are booked as such; all others, and all if this is empty, as pickups at an alternate address, for which UPS may charge more.",
		},
	},
	Services:        specServices(),
	Packagings:      specPackagings(),
	Extras:          extras(),
	Formats:         []string{"gif", "zpl"},
	Address:         addressLimits,
	AddressCoverage: addressCoverage,
	Documents:       carrier.DocumentPolicy{Types: slices.Sorted(maps.Keys(documentTypes))},
	TrackBatch:      trackBatch,
	SubscribeBatch:  subscribeBatch,
	VisibilityDelay: 60 * time.Minute,

	// Label Recovery may know only returns by reference.
	LookupLacksLabel:   true,
	LookupMayHaveLabel: true,

	OnePickupPerPlace: true,

	Deadlines: carrier.Deadlines{Track: 10 * time.Second, CheckAddress: 8 * time.Second},
	Limits: []string{
		"UPS sends labels as GIF or ZPL, never as PDF. Waybill buys GIF labels and creates the other formats from them.",
		"UPS accepts two references, 35 characters each, and prints both. The first is the order number, followed by `reference` if both fit; the second is the reference that Waybill uses to find the purchase.",
		"UPS has no idempotency keys. A purchase without a response is looked up by its reference with Label Recovery, which returns the label, but not the price, for about 30 days. If Label Recovery does not find it, the reference is tracked (product Tracking); a purchase that only tracking knows has no label any more, and is voided and made again. Nothing counts as absent unless both say so: without the product Tracking, a purchase that Label Recovery does not find needs review. If several shipments have the reference, the one with the order's postal code is used; if that is not unique, the shipment needs review.",
		"UPS does not document how soon a purchase appears in Label Recovery: Waybill waits one minute before it concludes that nothing was bought.",
		"UPS's test environment gives every parcel the number 1ZXXXXXXXXXXXXXXXX and stores nothing. Waybill adds a suffix to make such numbers unique, never tracks them, and voids them without a call to UPS.",
		"Prices are the account's negotiated rates if it has any, without taxes. The published price is shown as well.",
		"Return labels from the United States and Puerto Rico cover one parcel. Returns have no signature option, cannot cross a customs border, and are not sold with UPS Next Day Air Saver, UPS 2nd Day Air A.M. and, inside Canada, UPS Express Saver, nor in the boxes of 10 and 25 kg. Their labels show 30 characters of the first address line.",
		"A ship date may be at most seven days ahead.",
		"For shipments into the European Union from outside, UPS asks whether the parties are businesses or consumers. Waybill sends their `type`; without one, the sender is treated as a business, and the recipient as a business if `company` is given and as a consumer otherwise. Goods are declared as worth at most 150 EUR only if their value is in EUR, or if an IOSS number is given: amounts in other currencies are not converted.",
		"In sales to consumers in the European Union, an item without a GTIN is declared as having no standardized identifier. Without an identifier of type `none` to confirm that, the shipment gets a warning.",
		"Registrations under which the seller has collected the tax are sent in their own market only: IOSS in the European Union, VOEC in Norway, ARN in Australia, IRD in New Zealand, Singapore's GST in Singapore.",
		"UPS sends the invoice to customs electronically where the account and the destination allow it; `customs.paperless: off` requests a printed one. A copy of the invoice is among the shipment's documents either way.",
		"Uploaded documents are sent to UPS (product Paperless Documents), which attaches them to the shipment, unless `customs.paperless` is off. UPS must enable \"Upload Forms Created Offline\" for the account. UPS shows no documents, so one whose response is lost needs review. UPS's test environment keeps no shipments and takes no documents.",
		"Addresses in Vietnam need a province. UPS has country codes of its own for the Canary Islands and for territories of the United States and France; Waybill uses them.",
		"UPS accepts 35 characters in the sender's name and prints 30; it accepts 30 characters in a city and prints 15.",
		"UPS checks addresses in the United States and Puerto Rico against postal data (product Address Validation), and says whether they are homes or businesses. Its test environment knows only addresses in New York and California; the verdict on others is `unknown` there.",
		"UPS collects parcels (product Pickup) and charges the account; the price is shown. A pickup needs a contact of at most 22 characters, a company of at most 27 and a phone number, begins and ends on one day, and has instructions of at most 57 characters. Parcels whose service is not known are announced as UPS Ground or UPS Standard.",
		"UPS keeps one pickup for an address and a day. Booking another one there returns the number of the first, and cancelling it cancels both.",
		"UPS lists open pickups of today and tomorrow only. A booking without a response is looked up on these days, and booked again on later ones, which returns the same number. UPS publishes no code for a pickup that was cancelled before: Waybill recognizes it by UPS's words, and treats any other rejection of a cancellation as one.",
		"UPS needs no manifest: it has the data of a parcel from the purchase. Waybill prints a hand-over sheet instead.",
		"UPS sends proofs of delivery (product Tracking) as web pages, of the first parcel of a shipment, and only to accounts that have rights to the parcel.",
		"UPS searches for its Access Points (product Locator), at most 50 in a search. A purchase that goes to one looks up its address first, because UPS wants it with the id.",
		"UPS estimates duties, taxes and its own fees (product Landed Cost) of up to 99 items in one currency. The estimate is not guaranteed, and does not include the price of transport, which some countries tax. An item that UPS cannot calculate is named in a message.",
		"UPS tracks one number per call, and keeps a parcel for 120 days after its last movement.",
		"UPS sends pushes (product UPS Track Alert) to the webhook that is set for the app at developer.ups.com under Manage Webhook Credentials: enter the connection's URL and secret there. It covers numbers that begin with 1Z or 1R, for 14 days at a time, and sends no earlier events.",
		"UPS does not sign its pushes; they only contain the secret. Its test environment sends pushes only for two sample parcels of its own.",
		"Older scans have local times without a time zone. If the location does not determine the zone, the event says that its zone is unknown.",
		"To be confirmed with a real account, because UPS's documentation leaves it open: that Label Recovery finds labels other than returns by reference; that the second reference can be looked up like the first; that an order number and a reference are accepted in one line; that the fields for the European Union and the indicator against paperless invoices work in production as documented; which codes newer rejections have; the codes by which Address Validation declines a request, and what it answers to an app without that product; the codes by which Pickup declines a day, a time and a second cancellation, and how it lists no pickups; how Locator answers a search that finds nothing.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// addressLimits are what UPS takes; labels are printed in Latin-1.
var addressLimits = carrier.AddressLimits{
	Name:    35,
	Company: 35,
	City:    30,
	State:   5,
	Zip:     9,
	Phone:   15,
	Lines:   3,
	Line:    35,
	Charset: "latin1",
}
