// Package canadapost buys labels from Canada Post under a contract, over its
// REST services with XML, and tracks parcels. Labels are sold as transmitted: they
// need no manifest, and voiding one is a request for a refund.
package canadapost

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes Canada Post.
var Spec = carrier.Spec{
	Name:    "canada_post",
	Title:   "Canada Post",
	Mark:    carrier.Mark{Background: "#da291c", Text: "#ffffff"},
	LiveURL: "https://soa-gw.canadapost.ca",
	TestURL: "https://ct.soa-gw.canadapost.ca",
	Fields: []carrier.Field{
		{
			Name: "api_user", Title: "API user", Secret: true, Required: true,
			Help: "The first half of your API key, before the colon, from the Developer Program page of canadapost.ca. There is one key for development and one for production.",
		},
		{
			Name: "api_password", Title: "API password", Secret: true, Required: true,
			Help: "The second half of the API key, after the colon.",
		},
		{
			Name: "customer_number", Title: "Customer number", Required: true,
			Help: "Your Canada Post customer number, up to ten digits, from an invoice or your online business profile.",
		},
		{
			Name: "contract_id", Title: "Contract number", Required: true,
			Help: "The number of your parcel services contract, up to ten digits, from your contract or online business profile.",
		},
		{
			Name: "on_behalf_of", Title: "Mailed on behalf of",
			Help: "Only if you ship for another Canada Post customer: its customer number.",
		},
		{
			Name: "payment_method", Title: "Payment method",
			Help: "How Canada Post charges you: Account (the default), CreditCard for the card in your profile, or SupplierAccount.",
		},
		{
			Name: "refund_email", Title: "E-mail address for refunds",
			Help: "Canada Post sends its decisions about refunds there. Labels cannot be voided without it.",
		},
	},
	Origins:   []string{home},
	Services:  specServices(),
	Extras:    extraServices(),
	Formats:   []string{"pdf", "zpl"},
	Address:   addressLimits,
	LookupLag: 2 * time.Minute,
	Deadlines: carrier.Deadlines{
		Rates: 10 * time.Second,
		Find:  30 * time.Second,
		Track: 10 * time.Second,
	},
	Limits: []string{
		"A connection needs a parcel services contract. Accounts of Solutions for Small Business without one are sold labels by another service of Canada Post, which Waybill does not call.",
		"Every parcel is a shipment of its own: an order with several parcels is refused.",
		"Labels are sold as transmitted, so no manifest is needed; a hand-over sheet lists what is handed over. Voiding a label asks Canada Post for a refund, which its staff decide: the shipment stays refund_pending. Canada Post needs an e-mail address for it, refund_email.",
		"Canada Post allows labels without a manifest only to shippers who hand over fewer than 50 parcels a day from several places. Everybody else must transmit manifests, or pays full rates or is refused. Waybill does not make manifests for Canada Post: ask Canada Post before you use this driver for more.",
		"The label is fetched after the sale. If that fails or the response to the sale is lost, the shipment is looked up by its request id, and the label is fetched again.",
		"Canada Post does not recognize a repeated purchase: a second request is a second shipment.",
		"Shipments to the United States are refused: since August 2025 their duties must be prepaid by a qualified party, and Canada Post does not document how its API takes that.",
		"Small packets and library materials are not sold: they have no tracking number, or need a customer's special status.",
		"Prices are in Canadian dollars and include taxes.",
		"Goods are declared in Canadian dollars. Duties cannot be prepaid. Undeliverable parcels abroad come back to the sender, with all services but Tracked Packet International at the sender's expense.",
		"A declaration has one tax number, the IOSS number. Others, such as the recipient's VAT number, are left out with a warning.",
		"The insured value is in Canadian dollars. Within Canada a parcel with an insured value is also sold with a signature, which Canada Post requires for coverage and may charge for.",
		"Return labels (authorized returns), pickups, post offices as destinations and signatures of delivered parcels are offered by Canada Post and not by this driver.",
		"Tracking asks about one parcel per call; Canada Post does not send pushes.",
		"To be confirmed with a real account, because Canada Post's documentation leaves it open: the answer to a look-up by request id that finds nothing, the answer to a second refund request, how long links to labels work, the limit on calls, and the codes of refusals.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// addressLimits are how much of an address the label has room for.
var addressLimits = carrier.AddressLimits{
	Name:    44,
	Company: 44,
	City:    40,
	State:   20,
	Zip:     14,
	Phone:   25,
	Email:   60,
	Lines:   2,
	Line:    44,
	Charset: "latin1",
}
