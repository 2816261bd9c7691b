// Package postnl buys labels from PostNL and tracks parcels. A purchase draws a
// barcode first, and then a label for it: one barcode is one parcel, however often
// its label is made. The package makes one attempt per call and keeps no state.
// PostNL names no prices: they come from the rate sheet of the account.
package postnl

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Spec describes PostNL.
var Spec = carrier.Spec{
	Name:    "postnl",
	Title:   "PostNL",
	Mark:    carrier.Mark{Background: "#ed7700", Text: "#fff"},
	LiveURL: "https://api.postnl.nl",
	TestURL: "https://api-sandbox.postnl.nl",
	Fields: []carrier.Field{
		{
			Name: "api_key", Title: "API key", Secret: true, Required: true,
			Help: "In the business portal of PostNL (Mijn PostNL), under API management. The sandbox and production have keys of their own.",
		},
		{
			Name: "customer_code", Title: "Customer code", Required: true,
			Help: "Up to six letters, such as DEVC, from your contract. Barcodes begin with it, after 3S.",
		},
		{
			Name: "customer_number", Title: "Customer number", Required: true,
			Help: "Up to eight digits, from your contract or an invoice.",
		},
		{
			Name: "collection_location", Title: "Collection location",
			Help: "Six digits: where you hand your parcels over, from your contract.",
		},
		{
			Name: "product_codes", Title: "Product codes",
			Help: "Only if your contract has other codes than the usual ones: a service or a usual code, the code of the contract, and its options if it needs any, such as \"eu_parcel=4944, 4946=4947, standard=3085+118/006\".",
		},
	},
	Origins:  []string{"NL"},
	Services: specServices(),
	Extras:   extraServices(),
	Formats:  []string{"pdf", "zpl"},
	// fact: address-limits
	Address: carrier.AddressLimits{
		Name:    35,
		Company: 35,
		City:    35,
		State:   35,
		Zip:     17,
		Phone:   17,
		Email:   50,
		Lines:   2,
		Line:    95,
		Charset: "latin1",
	},
	TrackBatch: 1,
	// PostNL does not say how soon an announced parcel can be looked up.
	VisibilityDelay: 60 * time.Minute,
	Unconfirmed:     []carrier.Ability{carrier.AbilityFind},
	Limits: []string{
		"PostNL names no prices. Import a rate sheet with the prices of your contract: only the services in it are offered.",
		"A purchase draws a barcode and then a label for it. If the label's response is lost, the parcel is found by its reference, and the label is made again for the same barcode. That there is no such parcel counts only after the visibility delay.",
		"A label cannot be voided: PostNL has no call for it. A parcel that is announced and never handed over is not charged; its announcement lapses.",
		"An order has one parcel. Create a shipment for each parcel.",
		"Parcels are sent from the Netherlands to countries of the European Union. Destinations outside need GlobalPack barcodes, which are not supported.",
		"In the Netherlands, Belgium and Luxembourg the house number is sent apart from the street: address1 must have it, as in \"Molengraaffplantsoen 74 A\".",
		"The second line of an address is sent as the name of the building, with at most 35 characters.",
		"The usual product codes are used. Within the Netherlands: 3085 (standard), 3385 (home_only), 3189 (signature), 3089 (signature_home_only), 3087 (insured), 3438 (age_check), 2928 (mailbox) and 2948 (mailbox_48h). To Belgium: 4946 (standard and eu_parcel), 4941 (home_only), 4912 (signature) and 4914 (insured). To other countries: 4907 (eu_parcel). If your contract has others, set them in product_codes.",
		"The options that PostNL requires are sent with the codes: 005/025 and 101/012 with 4907, 002/014 (18 or older) with 3438.",
		"No date of birth is sent with an age check, as PostNL's own plug-ins do not send one; PostNL's reference calls it mandatory and may refuse the parcel.",
		"A parcel goes to a pickup point with `destination.servicePoint` set to its number, as standard (3533, in Belgium 4936), insured (3534) or age_check (3571). The destination is the recipient's own address, with an e-mail address; the point's address is fetched from PostNL with the purchase. Points are searched in the Netherlands and Belgium.",
		"A mailbox parcel weighs at most 2 kg and measures at most 38 x 26.5 x 3.2 cm. Set the same limits in the rate sheet: otherwise it is offered for every parcel.",
		"Returns are bought with Smart Return (`smart_return`), within the Netherlands, one parcel each: 2285 to a reply number (an address1 such as \"Antwoordnummer 1234\") and 3285 to any other address, both with the option 152/025. Whoever the return goes to needs an e-mail address. PostNL must have enabled Smart Returns for the customer code, and the rate sheet must have a price. Labels that are enclosed with the outbound parcel (label in the box, shipment and return) are not supported: they belong to the outbound parcel.",
		"A lost response is not settled by sending the same barcode again. PostNL calls a barcode a unique value, but documents nowhere what it answers about one that is announced already. The parcel is looked up instead.",
		"Pickups and manifests are arranged with PostNL: the shipments are announced with their labels.",
		"Times of scans are in the time of the Netherlands.",
		"PostNL does not send pushes: parcels are polled, one per call.",
		"The proof of delivery is the picture of the signature.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}
