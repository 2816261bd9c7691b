// Package gls buys labels from GLS over the ShipIT API of its group platform,
// looks purchases up by their reference, voids and tracks them, fetches proofs of
// delivery, and finds parcel shops. It makes one attempt per call and keeps no
// state but its token.
package gls

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes GLS.
var Spec = carrier.Spec{
	Name:    "gls",
	Title:   "GLS",
	Mark:    carrier.Mark{Background: "#061ab1", Text: "#ffd100"},
	LiveURL: "https://api.gls-group.net",
	TestURL: "https://api-sandbox.gls-group.net",
	Fields: []carrier.Field{
		{
			Name: "client_id", Title: "Client ID", Required: true,
			Help: "On dev-portal.gls-group.net, under your app: the client ID. Add the products Authentication, ShipIT-Farm and Track-and-Trace to the app.",
		},
		{
			Name: "client_secret", Title: "Client secret", Secret: true, Required: true,
			Help: "Next to the client ID.",
		},
		{
			Name: "contact_id", Title: "Contact ID", Required: true,
			Help: "GLS gives it to each shipper, ten characters or more, such as 276a45fkqM. It decides the depot, the country and the contract; the sandbox has another one.",
		},
		{
			Name: "flex_delivery", Title: "FlexDelivery",
			Help: "\"yes\" if your contract includes FlexDelivery: GLS Parcel is then bought with it where the recipient has an e-mail address. GLS refuses it to other shippers.",
		},
		{
			Name: "middleware", Title: "Software name",
			Help: "Only if GLS has given your software another name than WaybillviaGLS, which is sent with each shipment as Middleware.",
		},
	},
	Services: specServices(),
	Extras:   extraServices(),
	Formats:  []string{"pdf", "zpl"},
	Address: carrier.AddressLimits{ // fact: address-limits
		Name:    40,
		Company: 40,
		City:    40,
		State:   40,
		Zip:     10,
		Phone:   35,
		Email:   80,
		Lines:   2,
		Line:    40,
	},
	TrackBatch:      trackBatch,
	VisibilityDelay: 5 * time.Minute,
	Unconfirmed:     []carrier.Ability{carrier.AbilityFind},
	LookupWindow:    24 * time.Hour,
	Deadlines: carrier.Deadlines{
		Find: 30 * time.Second, // a look-up renders the label again
		Void: 60 * time.Second, // each parcel is cancelled by itself
	},
	Limits: []string{
		"GLS quotes no prices: they are in your contract. Import them as a [rate sheet](rate-sheets.md) for the connection; without one, it makes no offers.",
		"The connection is for the group platform of GLS (api.gls-group.net): Germany, Austria, Belgium, Denmark, Finland, Ireland, Luxembourg and others. GLS in Italy, Spain, Portugal, the Netherlands, eastern Europe and North America has other systems, which are not supported.",
		"Parcels are sent within the European Union: GLS takes customs declarations by another API.",
		"A purchase whose response was lost is looked up by its reference with a reprint, which also returns the label. Only if GLS's list of parcels has nothing under the reference either was nothing bought.",
		"Orders can have several parcels. Each has a number of its own, and each is voided by a call of its own: if GLS refuses one of them, the others may be voided already, and the error names them.",
		"A label can be voided until the parcel is scanned. GLS may answer that the cancellation is pending, which counts as voided. A parcel that GLS refuses to cancel counts as voided only if tracking shows it as cancelled.",
		"Which services may be bought depends on the contract. GLS refuses the others.",
		"A direct signature is GLS's delivery to the addressee only. Adult signatures are not available.",
		"With `flex_delivery` set to yes, GLS Parcel is bought with FlexDelivery if the recipient has an e-mail address and no signature is asked for: GLS notifies the recipient, who may redirect the parcel. GLS refuses the whole shipment if the contract does not include it.",
		"GLS reads weights with two decimals, from 0.10 kg: other weights are rounded up.",
		"A parcel to another country is sent with the incoterm code 20, also within the European Union: GLS routes by it.",
		"Insurance is GLS's add-on liability, for orders with one parcel. Cash on delivery is for orders with one parcel, too.",
		"Delivery to a parcel shop needs its id, which a search for service points returns, and an e-mail address of the recipient. GLS does not say in which unit distances are, so they are left out; the order is that of GLS.",
		"Saturday delivery is available with the express services until 10:00 and 12:00.",
		"Returns are bought with GLS ShopReturn (`shop_return`), one parcel each: the customer hands the parcel in at a parcel shop, and GLS brings it to the address that it has for the contact ID, whatever the destination of the return is. The rate sheet must have a price for it. GLS does not publish whether it charges for labels that nobody uses.",
		"Collections at the customer (Pick & Return) are not supported: GLS's driver brings the label, and GLS does not publish whether the API returns one to print.",
		"There are no pickups: GLS confirms one without a number, and it can be neither looked up nor cancelled. There are no manifests: GLS closes the day at night, and Waybill prints a hand-over sheet.",
		"GLS tracks ten parcels per call, and gives a starter plan 500 calls a day. GLS does not send pushes.",
		"Parcels are mapped by the status of the parcel. Of the codes of its events, only those that are published are mapped; `GET /tracking/events/codes` lists all of them to a live key.",
		"To be confirmed with a real account: how GLS words that a reference is unknown, whether all parcels of a shipment are reprinted at once and for how long, how it answers to a second cancellation, the names of the express services, whether it must know the name in Middleware, the lengths of printed fields, and the unit of distances.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}
