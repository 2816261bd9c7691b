// Package dhlexpress buys labels from DHL Express over its MyDHL API, tracks
// parcels, books couriers, fetches proofs of delivery, estimates duties, finds
// service points, and checks which places DHL serves. It makes one attempt per call and keeps no state. Buying a label never books a courier: an
// unused label costs nothing, but a courier who comes in vain does.
package dhlexpress

import (
	"maps"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes DHL Express.
var Spec = carrier.Spec{
	Name:    "dhl_express",
	Title:   "DHL Express",
	Mark:    carrier.Mark{Background: "#ffcc00", Text: "#c8102e"},
	LiveURL: "https://express.api.dhl.com/mydhlapi",
	TestURL: "https://express.api.dhl.com/mydhlapi/test",
	Fields: []carrier.Field{
		{
			Name: "api_key", Title: "API key", Secret: true, Required: true,
			Help: "On developer.dhl.com, under your app for \"DHL Express - MyDHL API\": the API key. DHL issues one pair for tests and, after approval, another for live use.",
		},
		{
			Name: "api_secret", Title: "API secret", Secret: true, Required: true,
			Help: "Next to the API key: choose \"Show secret\".",
		},
		{
			Name: "account_number", Title: "Account number", Required: true,
			Help: "Your DHL Express account, usually nine digits, from an invoice or your DHL contract. The API key must be allowed to use it.",
		},
		{
			Name: "service_point_key", Title: "Service point key", Secret: true,
			Help: "Only to search service points. DHL issues this key on request: ask your DHL Express contact for access to the service point API.",
		},
	},
	Services:   specServices(),
	Packagings: specPackagings(),
	Extras:     extraServices(),
	Formats:    []string{"pdf", "zpl"},
	Address: carrier.AddressLimits{
		Name:    255,
		Company: 100,
		City:    45,
		State:   35,
		Zip:     12,
		Phone:   70,
		Email:   70,
		Lines:   3,
		Line:    45,
	},
	AddressCoverage: carrier.AddressCoverage{Places: true},
	Documents: carrier.DocumentPolicy{
		Types: slices.Sorted(maps.Keys(documentTypes)),
		Apart: documentsApart,
	},
	TrackBatch:       trackBatch,
	VisibilityDelay:  60 * time.Minute,
	LookupWindow:     24 * time.Hour,
	LookupLacksLabel: true,
	Deadlines: carrier.Deadlines{
		Rates: 15 * time.Second,
		Track: 20 * time.Second,

		CheckAddress: 8 * time.Second,
	},
	Limits: []string{
		"A label cannot be voided: the MyDHL API has no call for it. DHL bills a shipment when it is scanned, so a label that is not used is not billed.",
		"The label is sent once, in the response to the purchase. If that response is lost, the shipment can be found by its reference, but without its label and price.",
		"A shipment found without its label is left unused, and the parcel needs a new purchase.",
		"The response to a purchase does not repeat Waybill's reference, so it cannot be used to detect a response to a different request.",
		"The test environment does not show the shipments it sold, so look-ups there find nothing. It accepts about 500 calls a day.",
		"Buying a label never books a courier pickup.",
		"A pickup can be booked up to ten days ahead, for one day. It needs a phone number and the weight of the parcels. If DHL cannot come on that day, it books the next day that it can; the pickup shows when.",
		"A pickup whose response is lost cannot be looked up, and a second request books a second courier: a person decides whether to book again.",
		"DHL may combine several pickups at one place. Cancelling one then cancels all of them.",
		"There are no manifests: DHL receives the data of each shipment with its purchase, and needs no list at the end of the day.",
		"A purchase needs phone numbers for sender and recipient. A quote needs only postal code, city and country.",
		"The ship date may be at most ten days ahead.",
		"Documents are covered by DHL's extended liability, which has a fixed amount, instead of the insured value.",
		"A return is a shipment from the customer to you. The connection's account is its shipper and payer account, and DHL must allow it to import; an import account of its own is given as billing of type recipient.",
		"DHL keeps the data of a return for three months or longer if the quote offers data staging (PT, PU, PV, PW), which your DHL contact can enable for the account. Otherwise, and for purchases by a rate sheet, the return must be sent within a few days; the shipment then has a warning.",
		"Paperless trade is used where the quote offers it, unless customs.paperless is off. Otherwise, and for purchases by a rate sheet, the commercial invoice must be printed; the shipment then has a warning.",
		"An uploaded commercial invoice, certificate of origin or declaration is sent to DHL if the shipment was bought with paperless trade. DHL takes it ten minutes after the purchase at the earliest, one every ten minutes, and before the courier collects the parcel. If the response is lost, an invoice is looked up; other documents need review.",
		"The order number and the reference are printed on the label as free text.",
		"A domestic product with a country-specific code, as in Great Britain, can be bought only after a quote.",
		"DHL Express does not check streets. In every country it says whether it serves the city and postal code: a valid address is one that DHL delivers to, even if no such street or house exists. The check sends neither the street nor the recipient.",
		"To be confirmed with a real account, because DHL's documentation leaves it open: the text of the error for a place that DHL does not serve. Waybill takes an error with a text for that verdict unless it has a code or is about the parameters of the request.",
		"Duties are an estimate and not guaranteed. They are estimated by commodity codes: for an item with less than eight digits, or none, by the mean of the rates that fit. The amounts can be in several currencies. DHL must allow the account to use landed cost.",
		"The proof of delivery is DHL's summary, a document without the signature. DHL does not have one for every shipment, and none before the delivery.",
		"A search for service points needs a key of its own, service_point_key, which DHL issues on request. Only the postal code and the city are sent.",
		"DHL Express does not send pushes: parcels are polled, 200 per call.",
		"Scans from a call about many parcels may have no time zone. In a country with several time zones, they are local times.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}
