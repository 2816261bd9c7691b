// Package usps buys labels from the United States Postal Service over its v3
// APIs, tracks parcels, checks addresses, books pickups, makes SCAN forms, and
// finds post offices. It knows the wire format and nothing of the store.
// It makes one attempt per call and keeps no state but its two tokens: the
// access token, and the payment authorization that every label call needs as
// well.
package usps

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes USPS.
var Spec = carrier.Spec{
	Name:    "usps",
	Title:   "USPS",
	Mark:    carrier.Mark{Background: "#1e3f86", Text: "#fff"},
	LiveURL: "https://apis.usps.com",
	TestURL: "https://apis-tem.usps.com",
	Fields: []carrier.Field{
		{Name: "client_id", Title: "Consumer key", Required: true, Help: "developers.usps.com, Apps, your app, Credentials: the consumer key. The app needs the Labels, International Labels, Payments and Shipping Options products, Tracking and Subscriptions - Tracking to track parcels, Addresses to check addresses, Carrier Pickup to book pickups, SCAN Forms to close manifests, and Locations to find post offices; all except Shipping Options, Addresses and Locations need approval from USPS."},
		{Name: "client_secret", Title: "Consumer secret", Required: true, Secret: true, Help: "developers.usps.com, Apps, your app, Credentials: the consumer secret."},
		{Name: "crid", Title: "Customer registration ID (CRID)", Required: true, Help: "gateway.usps.com (Business Customer Gateway), Manage Account, Business Locations: the CRID of the location that ships."},
		{Name: "mid", Title: "Mailer ID (MID)", Required: true, Help: "Business Customer Gateway, Additional Services, Mailer ID: 6 or 9 digits, enrolled in USPS Ship."},
		{Name: "manifest_mid", Title: "Manifest mailer ID", Help: "The MID that manifests are filed under, if it differs from the mailer ID; USPS tells you when it enrolls you in USPS Ship."},
		{Name: "account_number", Title: "Payment account (EPS)", Required: true, Help: "Business Customer Gateway, Enterprise Payment System: the number of the account that pays for postage."},
		{Name: "price_type", Title: "Price type", Help: "\"contract\" to quote by your own agreement with USPS; empty or \"commercial\" for the published commercial prices."},
		{Name: "media_mail", Title: "Media Mail", Help: "\"on\" to offer Media Mail, if this account ships nothing but books, films, sound recordings and other media that USPS admits; empty or \"off\" otherwise. USPS may open such parcels to check. A shop with other goods connects the account a second time for its media."},
		{Name: "alert_email", Title: "Alert e-mail", Help: "The address that USPS notifies when it cannot deliver tracking updates to this service, or is about to end the subscription. Optional."},
	},
	Services:        specServices(),
	Packagings:      specPackagings(),
	Extras:          extras(),
	Formats:         []string{formatPDF, formatPNG},
	Address:         addressLimits,
	AddressCoverage: addressCoverage,
	Quota:           carrier.Quota{Calls: 60, Per: time.Hour, Burst: 20}, // fact: quota. USPS counts by the hour; the burst is how many of them may be made at once
	TrackBatch:      trackBatch,
	VisibilityDelay: time.Minute,

	OnePickupPerPlace: true,
	Manifest:          carrier.ListedLabels,

	Deadlines: carrier.Deadlines{
		Check: 20 * time.Second, // two tokens and the account
		Find:  30 * time.Second, // a look-up renders the label again
		Void:  30 * time.Second,

		CheckAddress: 8 * time.Second,
	},
	Limits: []string{
		"A new USPS app may make 60 calls an hour, for everything: each quote, label, void, address check and tracking call counts, so a shop with some dozen labels an hour has to wait. Ask USPS for a higher quota before you ship (developers.usps.com, Support), then set it in CARRIER_QUOTAS.",
		"Orders with several parcels are rejected, because USPS sells a separate label for each parcel. Create one shipment per parcel.",
		"A purchase whose response was lost is looked up by its idempotency key with a reprint, which also returns the label. USPS reprints a label at most three times, until its mailing date, and not after it was cancelled; after that the shipment needs review.",
		"A label that is voided after its manifest was sent (00:30 Central after the mailing date) is not cancelled: USPS opens a refund request, and the refund stays pending.",
		"Parcels must be sent from the United States, its territories or the freely associated states and weigh at most 70 pounds. Length, width and height are required except for flat rate packaging.",
		"Return labels are sold inside the United States and its territories, and the account must be enrolled in USPS Ship Returns. USPS charges for one when it is used, by the weight and size that it measures then, so the price is an estimate. It does not cancel return labels, and a void is rejected: a label that is not used is not charged. For a label that can be voided, buy a shipment with sender and recipient swapped.",
		"Only the connected payment account pays: billing to the recipient or a third party is rejected, and so are prepaid duties (incoterm DDP).",
		"Signatures are available only for domestic shipments. Saturday delivery needs no option: USPS delivers on Saturdays.",
		"International labels and labels with a customs form are available only as PDF. Items worth more than 2,500 dollars in one line need an export filing (ITN), which is not supported.",
		"USPS checks addresses in the United States, its territories and the freely associated states, and says whether they are businesses. A building without its apartment, suite or box number is valid, with a message. Every check is one of the calls that the account has in an hour.",
		"USPS does not list the addresses that an ambiguous one may mean, so there are no candidates.",
		"USPS collects parcels in the United States and its territories with the mail of the day, free of charge: the hours of a pickup's window are not sent. A pickup can be booked from Monday to Saturday, until 02:00 Central on its day and a year ahead, and needs an e-mail address or a phone number of ten digits.",
		"USPS keeps one pickup for an address and a day. A pickup whose response was lost is found out by booking it again, but USPS does not repeat its number: such a pickup cannot be cancelled here, only on usps.com.",
		"A manifest is a SCAN form (PS Form 5630) of the listed labels, which all leave from one ZIP code. A label that USPS does not take, because it was cancelled or its data went out already, is left out with the reason, up to five for one manifest; with more, the manifest is rejected. Labels without a form need none: USPS sends their data at 00:30 Central after the mailing date.",
		"If the response to a SCAN form is lost, Waybill requests the form again: USPS names the form that has the labels, but does not send it again. A label on a form cannot be cancelled any more; once its data went out, USPS opens a refund request.",
		"Service points are post offices and parcel lockers near a ZIP code in the United States and its territories, in turn: USPS does not say how far a locker is. A search takes two of the calls that the account has in an hour. Labels to a post office or a locker are not supported.",
		"A proof of delivery is not available: USPS sends it by e-mail only.",
		"USPS sends tracking pushes for the parcels of the mailer ID, signed with a secret that Waybill chooses. The subscription is checked every week, because USPS ends one that was idle for 30 days and suspends one whose URL does not respond.",
		"USPS shows only parcels of the connection's own mailer ID.",
		"Cubic prices of Ground Advantage and Priority Mail are used for boxes where USPS offers them; the label is then bought with the rate indicator of the quote. Cubic prices for soft packs are not used.",
		"Media Mail is offered only by connections with media_mail set to on, because USPS admits only certain contents. It is domestic, up to 108 inches of length and girth, and is sold without signature and insurance; there are no return labels for it.",
		"A parcel that came back to its sender ends as an exception with the reason return_to_sender. Events that only say why a parcel cannot be delivered, such as \"No Such Number\" or \"Unclaimed\", are not a return yet: USPS reports the return itself.",
		"First-Class Package International takes goods worth at most 400 dollars.",
		"The order number and the reference are printed on labels without a customs form. A label with a customs form has two references, which USPS stores but does not print: Waybill's and the order number.",
		"A customs form has room for one tax identifier of the sender and one of the recipient; others are left out, with a warning.",
		"USPS reports local times. If it sends no UTC time, the zone of the city or state is used where it is unambiguous; otherwise the event says that its zone is unknown.",
		"To be confirmed with a real account, because USPS's documentation leaves it open: that an address which is not a business is a home; whether USPS still declines unknown addresses with the codes 010001 to 010006, which Waybill takes for the same verdict; whether its terms limit checks to addresses for shipping and mailing.",
		"USPS has several hundred event codes. Codes that are not in the status table are mapped by their text, or stay unmapped.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// addressLimits are those of addresses on a label.
var addressLimits = carrier.AddressLimits{
	Name:    50,
	Company: 50,
	City:    28,
	State:   40,
	Zip:     11,
	Phone:   16,
	Email:   254,
	Lines:   2,
	Line:    50,
	Charset: "ascii",
}
