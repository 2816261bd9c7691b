// Package fedex speaks to FedEx over its REST API: rates, labels, look-up by
// reference, cancellation and tracking, polled or pushed; addresses, pickups,
// manifests, proofs of delivery and service points. It keeps no state but tokens
// and what it learned about the account, and never repeats a call that costs
// money.
package fedex

import (
	"maps"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes FedEx.
var Spec = carrier.Spec{
	Name:       "fedex",
	Title:      "FedEx",
	Mark:       carrier.Mark{Background: "#4d148c", Text: "#ff8a3c"},
	LiveURL:    "https://apis.fedex.com",
	TestURL:    "https://apis-sandbox.fedex.com",
	Fields:     fields,
	Services:   specServices(),
	Packagings: specPackagings(),
	Extras:     extras(),
	Formats:    []string{"png", "pdf", "zpl"},
	Address: carrier.AddressLimits{
		Name:    70,
		Company: 35,
		Lines:   3,
		Line:    35,
		City:    35,
		Zip:     10,
		Phone:   15,
		Email:   80,
		Charset: "latin1",
	},
	AddressCoverage:  addressCoverage,
	Quota:            carrier.Quota{Calls: 1400, Per: 10 * time.Second, Burst: 140},
	Documents:        carrier.DocumentPolicy{Types: slices.Sorted(maps.Keys(documentTypes)), Announced: true},
	TrackBatch:       trackBatch,
	Manifest:         carrier.AllOfTheDay,
	ManifestServices: []string{"ground", "home_delivery"},
	VisibilityDelay:  24 * time.Hour,
	LookupWindow:     24 * time.Hour,
	LookupLacksLabel: true,
	Deadlines: carrier.Deadlines{
		Rates:    15 * time.Second,
		Find:     20 * time.Second,
		BuyPiece: 4 * time.Second,
		BuyMost:  120 * time.Second,

		CheckAddress: 10 * time.Second,
	},
	Limits: []string{
		"FedEx has no idempotency keys: two identical purchases create two labels. A purchase whose response is lost is looked up by its reference.",
		"A look-up confirms the purchase and returns its tracking number, but never its label: the purchase is cancelled and bought again.",
		"A look-up covers the ship dates until today where the sender is, 30 days at most, because FedEx refuses windows that end in the future. It asks for both names that FedEx's tracking has for a reference. A purchase with a later ship date is searched for without dates; if it is not found, it counts as unknown until that day, and may need review.",
		"A look-up needs the Track API, which FedEx puts into a separate project. Without it, a purchase whose response is lost needs review.",
		"FedEx requires phone numbers for sender and recipient; if the recipient has none, the sender's is used. Quotes need none.",
		"The label shows Waybill's reference, the order number (PO) and your reference (INV, or DEPT if there is a customs invoice number), 30 characters each. On a return your reference is its number (RMA), 20 characters.",
		"FedEx requires a declaration of contents for every parcel that leaves a country, also within the European Union and to Puerto Rico. There, one line for all parcels is enough; Waybill adds it if the order declares nothing.",
		"The invoice is sent to customs electronically (ELECTRONIC_TRADE_DOCUMENTS) unless customs.paperless is off. If the account is not enrolled or the lane does not support it, FedEx rejects the purchase and nothing is bought; the next attempt uses a printed invoice.",
		"Uploaded documents are sent to FedEx (Trade Documents Upload API, on documentapi.prod.fedex.com) if the shipment was bought with `customs.documentsFollow`, because FedEx must know at the purchase that documents follow. FedEx shows no documents, so one whose response is lost needs review. To be confirmed with a real account: that FedEx takes documents besides the invoice that it made itself.",
		"FedEx has two rate APIs, and a project may have either: the second is called if the first is not allowed.",
		"A label can be cancelled until the parcel is handed over.",
		"FedEx returns no price for some shipments that are billed to another account.",
		"A shipment has at most 40 pieces, all in the same packaging type.",
		"Delivery dates have no time zone: they are local to the destination, written as if in UTC.",
		"FedEx sends tracking pushes only to accounts that pay for Advanced Integrated Visibility. Enter the URL and the security token in the FedEx portal; there is no API for it. Without pushes, parcels are polled.",
		"FedEx reuses tracking numbers: if several parcels have the same number, the most recent one is used.",
		"The first scan of a Ground parcel may have only a date and no time zone: it is placed at the start of that day.",
		"FedEx checks addresses in the United States, Puerto Rico, Canada, Great Britain, Germany and Italy (Address Validation API), and says whether they are homes or businesses. An apartment or suite that is missing or unknown is a message, not another verdict. A verdict does not mean that FedEx delivers there: it delivers to post office boxes only with Ground Economy.",
		"FedEx's test environment may answer a check with a recorded response about another address. Waybill does not take it for a verdict: there, addresses are not checked.",
		"To be confirmed with a real account, because FedEx's documentation leaves it open: in which other countries FedEx checks streets (Waybill asks it only in those of its own examples); in which form it sends its messages about an address and the attributes `Resolved` and `DPV` (Waybill reads both texts and values); whether an address in the United States that only a map has is delivered to.",
		"A pickup is of FedEx Express or of FedEx Ground, which collect separately: parcels of both need two pickups (the dashboard books both). Book each with the `shipmentIds` of its parcels. FedEx requires a phone number at the address, shows its driver 60 characters of instructions, and comes on one day only.",
		"FedEx has no idempotency keys for pickups, and shows none that were booked: two identical bookings send two drivers. A pickup whose response is lost cannot be looked up: a person decides whether to book it again.",
		"A pickup that FedEx does not find is not taken for cancelled, because its driver may still come: call FedEx.",
		"A manifest closes the day of FedEx Ground and Home Delivery (Ground End of Day Close API): all labels of the account and day that are open, also those that other systems bought. None can be left out. FedEx Express and Ground Economy need no manifest: they are for a hand-over sheet of their own. The manifest is plain text.",
		"A manifest whose response is lost is looked up by the number of one of its labels. To be confirmed with a real account: what FedEx answers if the day is not closed, if nothing is left to close, and whether a label can be cancelled after its manifest is closed.",
		"Proofs of delivery are FedEx's letters (Track API), with the signature if this account paid for the parcel. FedEx's test environment may answer with the letter of another parcel, which Waybill does not accept. A proof may take up to five days after the delivery.",
		"Service points are FedEx's locations within 50 miles, 75 at most (FedEx Locations Search API). A parcel is delivered to one (hold at location) with `destination.servicePoint`; FedEx refuses locations that do not hold parcels of the service, and locations that take it in are listed with the ability `collect`.",
		"FedEx One Rate is chosen by its packaging (`one_rate_envelope` and others), inside the United States, with Express Saver, 2Day, 2Day AM and the Overnight services. FedEx limits the weight to 50 pounds, and to 10 in an envelope.",
		"A return is a label that the customer prints (PRINT_RETURN_LABEL); e-mailed labels and labels that the driver brings are not supported. If the customer's phone number is missing, yours is sent to FedEx.",
		"Freight, dangerous goods and cross-border returns are not supported.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

var fields = []carrier.Field{
	{Name: "client_id", Title: "API key", Required: true, Help: "In the FedEx developer portal, under My Projects: the project with the Ship and Rate APIs, and Address Validation, Pickup Request, Ground End of Day Close and FedEx Locations Search to use those. Test and production keys differ."},
	{Name: "client_secret", Title: "Secret key", Required: true, Secret: true, Help: "Shown once next to the API key, when the project is created or the key is renewed."},
	{Name: "account_number", Title: "Account number", Required: true, Help: "The nine digits of the shipping account that is billed, as shown on a FedEx invoice. For tests, the account number shown with the project's test key."},
	{Name: "track_client_id", Title: "Tracking API key", Help: "From the project with the Track API in the portal. If empty, the API key above is used, which FedEx allows for few accounts."},
	{Name: "track_client_secret", Title: "Tracking secret key", Secret: true, Help: "Shown once next to the tracking API key."},
	{Name: "ground_economy_hub", Title: "Ground Economy hub", Help: "The four-digit hub ID from your Ground Economy contract. Without it, that service is not offered."},
}
