// Package amazonshipping buys labels from Amazon Shipping for orders of any
// channel, over version 2 of the Shipping API of Amazon's Selling Partner API, and
// tracks parcels. A purchase buys a quote, so it begins with one.
package amazonshipping

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes Amazon Shipping.
var Spec = carrier.Spec{
	Name:    "amazon_shipping",
	Title:   "Amazon Shipping",
	Mark:    carrier.Mark{Background: "#232f3e", Text: "#ff9900"},
	LiveURL: liveURL,
	TestURL: testURL,
	Fields: []carrier.Field{
		{
			Name: "client_id", Title: "LWA client ID", Required: true,
			Help: "In Seller Central or the Solution Provider Portal, under Develop Apps: choose your app, then \"View\" under LWA credentials. The app needs a shipping role.",
		},
		{
			Name: "client_secret", Title: "LWA client secret", Secret: true, Required: true,
			Help: "Next to the client ID.",
		},
		{
			Name: "refresh_token", Title: "Refresh token", Secret: true, Required: true,
			Help: "Under Develop Apps, \"Authorize\" your app for your own account, and copy the refresh token that is shown. It ends when the authorization is withdrawn.",
		},
		{
			Name: "business_id", Title: "Business ID",
			Help: "The country of your Amazon Shipping account: AmazonShipping_US (the default), _UK, _IN, _IT, _ES, _FR, _JP, _UAE, _SA or _EG. The country code alone works too.",
		},
		{
			Name: "tracking_carrier_id", Title: "Carrier ID for tracking",
			Help: "Only if a shipment has a warning about it: the carrier ID that Amazon quotes with. The default is AMZN_ and the country, such as AMZN_US.",
		},
	},
	Origins:  businessCountries(),
	Services: specServices(),
	Extras:   extraServices,
	Formats:  []string{"pdf", "zpl", "png"},
	Address:  addressLimits,
	Quota:    carrier.Quota{Calls: 80, Per: time.Second}, // fact: quota
	Deadlines: carrier.Deadlines{
		Rates: 10 * time.Second,
		Track: 10 * time.Second,
	},
	DuplicateIsBilled: true,
	Unconfirmed:       []carrier.Ability{carrier.AbilityVoid},
	Limits: []string{
		"A purchase whose response is lost cannot be looked up: Amazon has no search by reference, and the shipment's id was in the lost response. A person decides, with the Amazon Shipping console. Amazon recognizes a repeated purchase by a key, but only with the quote that was bought, which ends after ten minutes: Waybill sends the reference of the purchase as the key, and does not repeat the purchase yet.",
		"Every purchase quotes again, because quotes end after ten minutes. If the price of the chosen offer has risen since, nothing is bought.",
		"Offers of other carriers that are linked to the Amazon account are left out, as are offers that need further input.",
		"Amazon names its services by ids that differ by country and account. Waybill sorts them by their names into the services above, and offers the cheapest of each.",
		"Shipments are domestic, in the country of the business ID, and are orders of your own channels, not of Amazon.",
		"Every parcel is a shipment of its own, and needs its size.",
		"In India the sender's GST number goes to Amazon, from customs.taxIdentifiers with type gst, and customs.invoiceNumber with every item. Other tax numbers are not sent.",
		"Amazon requires the weight of every item and an insured value. Items without a weight share what the parcel weighs; without an insured value that of the goods is sent, where customs.items declare it in the currency of the account, and otherwise 0.",
		"A connection is checked with the list of shipments that wait for a collection form, and where that is closed to the account, by tracking a parcel that does not exist.",
		"Where an offer requires a choice, such as a kind of delivery confirmation, the cheapest is chosen. A signature is bought where the offer has one; offers without one are left out.",
		"Parcels are polled, one per call, by the carrier ID of Amazon's own network.",
		"A parcel goes to a locker or counter of Amazon with its access point id as destination.servicePoint. The driver does not search access points.",
		"Returns, collection forms and claims are offered by Amazon and not by this driver.",
		"To be confirmed with a real account, because Amazon's documentation leaves it open: the carrier IDs for tracking, the answer to a second cancellation, whether a shipment that was picked up can be cancelled, whether unused labels are charged, and how long a key is remembered.",
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
	Name:    50,
	Company: 60,
	City:    60,
	State:   60,
	Zip:     20,
	Phone:   20,
	Email:   64,
	Lines:   3,
	Line:    60,
}

// The hosts in North America, in whose place the driver puts those of other
// parts of the world.
const (
	liveURL = "https://sellingpartnerapi-na.amazon.com"
	testURL = "https://sandbox.sellingpartnerapi-na.amazon.com"
)
