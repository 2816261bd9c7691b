// Package canadapost buys labels from Canada Post, with and without a contract, over
// its REST services with XML, and tracks parcels. Labels are sold as transmitted:
// they need no manifest, and voiding one is a request for a refund.
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
			Name: "contract_id", Title: "Contract number",
			Help: "The number of your parcel services contract, up to ten digits, from your contract or online business profile. Leave it empty for an account without a contract, such as one of Solutions for Small Business: Canada Post then charges the card in your profile for every label.",
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
		{
			Name: "us_duties", Title: "Duties of the United States",
			Help: "Enter zonos if a Zonos account is linked to your Canada Post account: it pays the duties of parcels to the United States and bills you for them. Without it, parcels there are declined.",
		},
	},
	Origins:  []string{home},
	Services: specServices(),
	Extras:   extraServices(),
	// fact: return-billing
	ReturnsBilledOn: carrier.BilledOnScan,
	Formats:         []string{"pdf", "zpl"},
	Address:         addressLimits,
	// Canada Post does not say how soon a purchase is listed.
	VisibilityDelay:   60 * time.Minute,
	DuplicateIsBilled: true,
	Deadlines: carrier.Deadlines{
		Rates: 10 * time.Second,
		Find:  30 * time.Second,
		Track: 10 * time.Second,
	},
	Limits: []string{
		"A connection without a contract number buys from Canada Post's service for accounts without a contract, such as those of Solutions for Small Business. It charges the card in the account's profile at once, has labels as PDF only, and prints the reference of the purchase as the second reference of the label, because a lost purchase is found by it: the shipments of the account since the order are opened one by one, up to 40. With more, or if Canada Post shows the reference of no other shipment of the last days, a person decides.",
		"Every parcel is a shipment of its own: an order with several parcels is refused.",
		"Labels are sold as transmitted, so no manifest is needed; a hand-over sheet lists what is handed over. Voiding a label asks Canada Post for a refund, which its staff decide: the shipment stays refund_pending. Canada Post needs an e-mail address for it, refund_email.",
		"Canada Post allows labels without a manifest only to shippers who hand over fewer than 50 parcels a day from several places. Everybody else must transmit manifests, or pays full rates or is refused. Waybill does not make manifests for Canada Post: ask Canada Post before you use this driver for more.",
		"The label is fetched after the sale. If that fails or the response to the sale is lost, the shipment is looked up by its request id, and the label is fetched again.",
		"Canada Post does not recognize a repeated purchase: a second request is a second shipment.",
		"Parcels to the United States need a contract, a Zonos account that is linked to the Canada Post account, and us_duties set to zonos: since August 2025 duties must be prepaid. Canada Post documents this for commercial customers only, so accounts without a contract are declined. Canada Post reports every parcel to Zonos, which bills the duties to the sender, so incoterm DDP is accepted there, and no other. Parcels above 800 USD go with duties unpaid. Goods need a tariff number and a country of origin. Territories of the United States are not served.",
		"Small packets and library materials are not sold: they have no tracking number, or need a customer's special status.",
		"Prices are in Canadian dollars and include taxes.",
		"Goods are declared in Canadian dollars. Duties of other countries than the United States cannot be prepaid. Undeliverable parcels abroad come back to the sender, with all services but Tracked Packet at the sender's expense.",
		"A declaration under a contract has one tax number, the IOSS number, and without a contract none. Others, such as the recipient's VAT number, are left out with a warning.",
		"The insured value is in Canadian dollars. Within Canada a parcel with an insured value is also sold with a signature, which Canada Post requires for coverage and may charge for.",
		"Return labels are authorized returns: within Canada, under a contract, with Regular Parcel, Expedited Parcel, Xpresspost or Priority, and without options. Canada Post charges one when the parcel comes back, and does not cancel it. A return label whose response is lost cannot be looked up: a person decides, and one that nobody uses is not charged.",
		"Pickups, manifests, post offices as destinations and signatures of delivered parcels are offered by Canada Post and not by this driver.",
		"The driver uses the web services at soa-gw.canadapost.ca with their API keys. In 2026 Canada Post also opened a Developer Portal with another API, other credentials and other addresses: keys of that portal do not work here.",
		"Tracking asks about one parcel per call; Canada Post does not send pushes.",
		"To be confirmed with a real account, because Canada Post's documentation leaves it open: the answer to a look-up by request id that finds nothing, the answer to a second refund request, how long links to labels work, the limit on calls, and the codes of refusals.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

// addressLimits are how much of an address the label has room for.
//
// fact: address-limits
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
