// Package royalmail buys labels from Royal Mail over the Click & Drop API, closes
// manifests, and tracks parcels over the Tracking API. It makes one attempt per
// call and keeps no state. Royal Mail names no prices: they come from the rate
// sheet of the account.
package royalmail

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes Royal Mail. It has no test address: every key of Click & Drop
// works on a real account.
var Spec = carrier.Spec{
	Name:    "royal_mail",
	Title:   "Royal Mail",
	Mark:    carrier.Mark{Background: "#da202a", Text: "#fdd900"},
	LiveURL: "https://" + shippingHost + "/api/v1",
	Fields: []carrier.Field{
		{
			Name: "api_key", Title: "API key", Secret: true, Required: true,
			Help: "In Click & Drop, under Settings, Integrations: add \"Click & Drop API\" and copy its authorisation key. The account must be an Online Business Account (OBA).",
		},
		{
			Name: "carrier_name", Title: "Carrier name",
			Help: "Only if Click & Drop has several carriers or posting locations: the name in Settings, Carriers, such as \"Royal Mail OBA\".",
		},
		{
			Name: "service_codes", Title: "Service codes",
			Help: "Only for services whose code in Click & Drop differs from the usual one, which the list of services under Settings, Integrations shows: such as \"tracked_24=TPN24/02, royal_mail_48=CRL48\". After the slash is the service register, for an account that has a service more than once.",
		},
		{
			Name: "notify_recipient", Title: "Notify recipients",
			Help: "How Royal Mail notifies recipients of tracked parcels: email (the default), sms, both or no.",
		},
		{
			Name: "tracking_client_id", Title: "Tracking client ID", Secret: true,
			Help: "Only for tracking. On developer.royalmail.net, subscribe your application to the Tracking API and copy its client ID.",
		},
		{
			Name: "tracking_client_secret", Title: "Tracking client secret", Secret: true,
			Help: "Next to the tracking client ID. It is shown once.",
		},
	},
	Origins:    []string{"GB"},
	Services:   specServices(),
	Packagings: specPackagings(),
	Extras:     extraServices(),
	Formats:    []string{"pdf"},
	Address: carrier.AddressLimits{ // fact: order-limits
		Name:    210,
		Company: 100,
		City:    100,
		State:   100,
		Zip:     20,
		Phone:   25,
		Email:   254,
		Lines:   3,
		Line:    100,
	},
	Quota:           carrier.Quota{Calls: 20, Per: 10 * time.Second, Burst: 5},
	TrackBatch:      1,
	Manifest:        carrier.AllOfTheDay,
	ManifestAllDays: true,
	VisibilityDelay: 5 * time.Minute,
	Limits: []string{
		"Labels need an Online Business Account (OBA), which pays by invoice. For any other account Click & Drop only imports orders, which are then paid and printed on its website; the check of the connection reports it.",
		"Royal Mail names no prices. Import a rate sheet with the prices of your contract: only the services in it are offered, so leave out those that your account does not have.",
		"There is no test environment: every key works on a real account. Try the carrier with its emulator, or with a live label that you void.",
		"The address of the sender on the label is that of the trading name in Click & Drop, not the origin of the shipment, which must be in Great Britain or Northern Ireland.",
		"A parcel from Great Britain to Northern Ireland needs the type of its destination, business or consumer.",
		"An order has one parcel. Create a shipment for each parcel.",
		"Labels are PDF files. Their size is the label format in the settings of Click & Drop: choose 6 x 4 inch.",
		"The customs form (CN22 or CN23) is in the file of the label. Where the label format of Click & Drop does not allow it, the form is a document of the shipment; if Royal Mail does not print it, the shipment has a warning.",
		"Click & Drop must apply postage to the orders that Waybill creates: turn on \"Apply postage automatically on orders imported via API\" in its settings. Without it a purchase is rejected with that advice, and its order is deleted. A purchase whose response was lost is found as an order without postage, is not bought again, and needs review.",
		"The codes of the services are those of Click & Drop for an Online Business Account: TPN24, TPS48, TRN24, TRS48, CRL24, CRL48, SD1 and so on. An account whose codes differ sets them in `service_codes`, with the service register if it has a service more than once. Tracked with age verification, International Tracked Heavier and the boxable International Business Parcels have no code that is publicly known: they are sold only if `service_codes` has one.",
		"First and second class, account mail, and Royal Mail 24 and 48 have no number to track them by. Their tracking number is that of the order in Click & Drop, such as CD-1001, unless Royal Mail gives one; they are looked up, voided and manifested like the others.",
		"Royal Mail notifies the recipients of tracked parcels by e-mail, or as `notify_recipient` says.",
		"A label is printed again at any time, so a purchase whose response is lost is found with its label.",
		"A label can be voided until it is on a manifest. Destroy voided labels: Royal Mail charges a fee for those that are posted.",
		"Parcels must be on a manifest before they are handed over. A manifest covers all labels of the account that are not on one, including those that were bought elsewhere.",
		"A manifest whose response is lost is closed again: if Royal Mail says that nothing is left, it was closed, and the hand-over sheet is printed instead of Royal Mail's form.",
		"If Royal Mail creates the form of a manifest later than its number, it is fetched for a few seconds. After that the hand-over sheet is printed, and the form is in Click & Drop.",
		"A manifest that Royal Mail reports as failed is retried once. If that does not help, it is rejected and its labels count as being on no manifest: look at it in Click & Drop before you close another.",
		"Returns are bought with Tracked Returns 24 and 48, within the United Kingdom, one parcel each, with the label as a PDF and a QR code as a document. Royal Mail can neither look them up nor void them over its API: a return whose response was lost needs review.",
		"Pickups cannot be booked over the API. Use Click & Drop.",
		"Duties cannot be prepaid: the delivered-duty-paid services need an amount that Royal Mail does not estimate.",
		"Numbers of the sender for customs (EORI, VAT) are settings of Click & Drop. The IOSS number and those of the importer are sent; those of the recipient are sent as the importer's unless the order names another importer. A number that is not sent is a warning of the shipment.",
		"Special Delivery covers a fixed amount by service: 750, 1000 or 2500 GBP. The insured value chooses nothing; it is rejected if the service covers less.",
		"Tracking needs an application of its own on developer.royalmail.net. Without its credentials the connection sells labels and does not track them.",
		"Royal Mail does not send pushes: parcels are polled, one per call.",
		"The proof of delivery is the picture of the signature.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}
