// Package dhlparcelde buys labels from DHL Parcel DE (Post & Parcel Germany)
// over its Parcel DE APIs, voids and tracks them, and books pickups. It makes one
// attempt per call and keeps no state but its token.
package dhlparcelde

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes DHL Parcel DE.
var Spec = carrier.Spec{
	Name:    "dhl_parcel_de",
	Title:   "DHL Parcel DE",
	Mark:    carrier.Mark{Background: "#ffcc00", Text: "#c8102e"},
	LiveURL: "https://api-eu.dhl.com",
	TestURL: "https://api-sandbox.dhl.com",
	Fields: []carrier.Field{
		{
			Name: "api_key", Title: "API key", Secret: true, Required: true,
			Help: "On developer.dhl.com, under your app: the API key. Add \"Parcel DE Shipping\" and \"Parcel DE Tracking\" to the app, \"Parcel DE Pickup\" to book pickups, and \"Parcel DE Returns\" to buy returns.",
		},
		{
			Name: "api_secret", Title: "API secret", Secret: true, Required: true,
			Help: "Next to the API key: choose \"Show secret\".",
		},
		{
			Name: "username", Title: "Portal user", Required: true,
			Help: "The user of the Post & DHL business customer portal (geschaeftskunden.dhl.de). Create a system user: the password of a person's user expires.",
		},
		{
			Name: "password", Title: "Portal password", Secret: true, Required: true,
			Help: "The password of the portal user.",
		},
		{
			Name: "profile", Title: "Group profile",
			Help: "The group profile of the portal user, " + defaultProfile + " if you have not set up another one.",
		},
		{
			Name: "billing_paket", Title: "Billing number of DHL Paket",
			Help: "14 characters, such as 33333333330102: the customer number (EKP), the procedure 01 and the participation. In the portal under Contract data.",
		},
		{
			Name: "billing_kleinpaket", Title: "Billing number of DHL Kleinpaket",
			Help: "14 characters with the procedure 62. Leave it empty if your contract does not include the product; this is true of every billing number.",
		},
		{
			Name: "billing_paket_international", Title: "Billing number of DHL Paket International",
			Help: "14 characters with the procedure 53.",
		},
		{
			Name: "billing_europaket", Title: "Billing number of DHL Europaket",
			Help: "14 characters with the procedure 54.",
		},
		{
			Name: "billing_warenpost_international", Title: "Billing number of Warenpost International",
			Help: "14 characters with the procedure 66.",
		},
		{
			Name: "billing_pickup", Title: "Billing number of pickups",
			Help: "14 characters with the procedure 08, only to book pickups.",
		},
		{
			Name: "return_receiver", Title: "Receiver of returns",
			Help: "The receiver id under which the portal (Returns, settings) has the address that returns from Germany go to, " + defaultReceiver + " if you leave it empty.",
		},
	},
	Origins:  []string{"DE"},
	Services: specServices(),
	Extras:   extraServices(),
	Formats:  []string{"pdf", "zpl"},
	// fact: address-limits
	Address: carrier.AddressLimits{
		Name:    50,
		Company: 50,
		City:    40,
		State:   20,
		Zip:     10,
		Phone:   20,
		Email:   80,
		Lines:   2,
		Line:    50,
		Charset: "latin1",
	},
	TrackBatch: trackBatch,
	// DHL does not say when tracking gets the data of a shipment.
	VisibilityDelay: 60 * time.Minute,
	LookupWindow:    24 * time.Hour,
	Deadlines: carrier.Deadlines{
		Track: 20 * time.Second,
	},
	Limits: []string{
		"DHL Parcel DE quotes no prices: they are in your contract. Import them as a [rate sheet](rate-sheets.md) for the connection; without one, it makes no offers.",
		"A purchase whose response is lost is looked up by its reference in DHL's tracking, and its label is fetched again, which DHL allows until the end of the ship date. Tracking gets a shipment late, perhaps only when DHL closes the day: that it is missing counts only after 24 hours. The reference is also printed on the label, for a search in the business customer portal. A domestic label that is not used is not billed; an international one may be billed by its data.",
		"A product can be bought only if the connection has its billing number. Digits 11 and 12 of a billing number belong to the product.",
		"Orders with several parcels are rejected, because DHL sells a separate label for each parcel. Create one shipment per parcel.",
		"Parcels must be sent from Germany and weigh at most 31.5 kg. DHL itself refuses what exceeds the limits of the smaller products.",
		"A label can be voided until DHL closes the day of its ship date, at about 18:00 by the setting of the account. DHL gives the same error for a label that is unknown and for one that was deleted before: Waybill takes both for voided, unless the label is on the manifest of a day that DHL closed, or DHL does not show the manifests since its purchase.",
		"There are no manifests: DHL closes shipments by itself at the end of their ship date. Waybill prints a hand-over sheet.",
		"The reference and the order number are printed on the label.",
		"A parcel goes to a Packstation or a post office with `destination.servicePoint` set to `packstation-118` or `filiale-502`, and the zip and city of the place. The recipient's post number (6 to 10 digits) is given as company or second address line; for a post office, an e-mail address will do.",
		"A signature is DHL's \"signed for by recipient\"; a direct signature also excludes neighbours; an adult signature is the visual check of age 18. They, insurance and delivery to a Packstation are available only within Germany, insurance also for DHL Paket International. Insured values are in EUR.",
		"DHL delivers on Saturdays as on other days: the option for it is accepted within Germany and costs nothing.",
		"Goods that leave the European Union need a customs declaration. The form CN23, where DHL returns one, is a document of the shipment: print it and attach it to the parcel. The postage that the recipient paid is declared as 0, in the currency of the goods: DHL takes one currency for a declaration. To the United States, DHL asks for a commodity code of ten digits.",
		"Prepaid duties (incoterm DDP) are DHL's \"postal delivery duty paid\", which DHL offers to some countries.",
		"Undeliverable international parcels are returned to the sender.",
		"DHL Paket International and Warenpost International are bought as economy, and their premium services as premium. Where a country has only one of them, DHL may use that: the label shows it.",
		"Returns are bought with DHL Retoure (`retoure`), within Germany, one parcel each, with the label as a PDF and a QR code, from which a post office or a Packstation prints the label, as a document. DHL brings them to the address that the portal has for the receiver id of the connection, whatever the destination of the return is, and bills the contract of that receiver. The rate sheet must have a price for `retoure`. The street of the customer must end with the house number. DHL can neither look returns up nor void them over its API: one whose response was lost needs review, and is found in the portal by its reference. Returns from other countries (DHL Retoure International) are not supported.",
		"A pickup needs a billing number of its own (`billing_pickup`), a street with a house number in Germany, and a day; DHL gets the window as business hours. A pickup whose response is lost is found by its day, postal code and reference.",
		"15 parcels are tracked per call, and only those of the portal user's account. Times of scans are German local time. DHL Parcel DE does not send pushes.",
		"There is neither a search for service points nor a proof of delivery.",
		"To be confirmed with a real account: how DHL words the error for a label that was deleted before, which error texts have a code, how long a token is valid, which characters beyond Latin-1 are printed, and how soon the tracking API finds a shipment by its reference.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}
