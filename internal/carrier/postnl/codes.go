package postnl

import (
	"regexp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A service is what a client buys. PostNL has a product of its own for each group of
// countries, and for parcels that are collected at a pickup point.
type service struct {
	code, name string
	products   products
	signed     bool // the recipient signs
	adult      bool // the age of the recipient is checked
	insured    bool
	isReturn   bool // brings a parcel back, and nothing else does
	mailbox    int  // delivered through the letterbox, this many days after it was sent; 0 for a parcel
}

// products are the usual codes of PostNL for one service. An empty one means that
// PostNL does not offer it.
type products struct {
	home         string // within the Netherlands
	homePoint    string // to a pickup point in the Netherlands
	belgium      string
	belgiumPoint string
	union        string // to the other countries of the European Union
	replyNumber  string // within the Netherlands, to a reply number (Antwoordnummer)
}

var services = []service{
	{
		code: "standard", name: "PostNL Parcel",
		// fact: product-domestic, product-belgium, product-point
		products: products{home: "3085", homePoint: "3533", belgium: "4946", belgiumPoint: "4936"},
	},
	{
		code: "home_only", name: "PostNL Parcel, Home Address Only",
		products: products{home: "3385", belgium: "4941"},
	},
	{
		code: "signature", name: "PostNL Parcel with Signature",
		products: products{home: "3189", belgium: "4912"},
		signed:   true,
	},
	{
		code: "signature_home_only", name: "PostNL Parcel with Signature, Home Address Only",
		products: products{home: "3089"},
		signed:   true,
	},
	{
		code: "insured", name: "PostNL Parcel, Extra Cover",
		products: products{home: "3087", homePoint: "3534", belgium: "4914"},
		signed:   true,
		insured:  true,
	},
	{
		code: "age_check", name: "PostNL Parcel with Age Check",
		products: products{home: "3438", homePoint: "3571"},
		signed:   true,
		adult:    true,
	},
	{
		code: "mailbox", name: "PostNL Mailbox Parcel",
		// fact: product-mailbox
		products: products{home: "2928"},
		mailbox:  1,
	},
	{
		code: "mailbox_48h", name: "PostNL Mailbox Parcel, 48 Hours",
		products: products{home: "2948"},
		mailbox:  2,
	},
	{
		code: "eu_parcel", name: "PostNL Parcel EU",
		// PostNL has no product 4907 to Belgium.
		products: products{belgium: "4946", belgiumPoint: "4936", union: "4907"},
	},
	{
		code: "smart_return", name: "PostNL Smart Return",
		// fact: product-return
		products: products{home: "3285", replyNumber: "2285"},
		isReturn: true,
	},
}

// replyNumber is how the address of a reply number begins: PostNL takes returns to one
// under another product than those to a street.
var replyNumber = regexp.MustCompile(`(?i)^\s*antwoordnummer\s`)

// usualOf returns the code for an order; empty if PostNL does not sell it.
func (p products) usualOf(order ship.Order) string {
	isToPoint := order.Options.ServicePoint != ""
	switch country := order.Destination.Country; {
	case p.replyNumber != "" && country == "NL" && replyNumber.MatchString(order.Destination.Address1):
		return p.replyNumber
	case country == "NL" && isToPoint:
		return p.homePoint
	case country == "NL":
		return p.home
	case country == "BE" && isToPoint:
		return p.belgiumPoint
	case country == "BE":
		return p.belgium
	case isToPoint:
		return ""
	}
	return p.union
}

// usual returns the code that stands for the service in the settings: the one
// within the Netherlands, or abroad for a service that is only sold there.
func (p products) usual() string {
	if p.home != "" {
		return p.home
	}
	return p.union
}

// usualCodes lists every product code of the services.
func usualCodes() []string {
	var list []string
	for _, s := range services {
		for _, code := range []string{s.products.home, s.products.homePoint, s.products.belgium, s.products.belgiumPoint, s.products.union, s.products.replyNumber} {
			if code != "" && !slices.Contains(list, code) {
				list = append(list, code)
			}
		}
	}
	return list
}

func serviceByCode(code string) (service, bool) {
	for _, s := range services {
		if s.code == code {
			return s, true
		}
	}
	return service{}, false
}

func specServices() []carrier.Service {
	list := make([]carrier.Service, len(services))
	for i, s := range services {
		list[i] = carrier.Service{Code: s.code, Name: s.name}
	}
	return list
}

// requiredOptions are the options without which PostNL does not sell a product.
// fact: option-eu, option-age-check, option-return
var requiredOptions = map[string][]productOption{
	"4907": {{"005", "025"}, {"101", "012"}},
	"3438": {{"002", "014"}},
	"3571": {{"002", "014"}},
	"2285": {{"152", "025"}},
	"3285": {{"152", "025"}},
}

// barcodeType is that of parcels within the European Union.
// fact: barcode-type
const barcodeType = "3S"

// Kinds of addresses.
// fact: address-types
const (
	receiver      = "01"
	sender        = "02"
	deliveryPoint = "09"
)

// insuredAmount is the kind of an amount that the goods are insured for.
// fact: amount-insured
const insuredAmount = "02"

// Label formats of PostNL, by ours.
// fact: printer-types
var printers = map[string]string{
	"pdf": "GraphicFile|PDF",
	"zpl": "Zebra|Generic ZPL II 200 dpi",
}

// A product is what PostNL sells, with the options that it needs.
type product struct {
	code    string
	options []productOption
}

// productOf returns the product of a service for an order; an empty one if PostNL
// does not sell the service there.
func (d driver) productOf(chosen service, order ship.Order) product {
	usual := chosen.products.usualOf(order)

	if own, ok := d.products[usual]; ok {
		return own
	}
	return product{code: usual, options: requiredOptions[usual]}
}

// ownProduct is a code of a contract, with the options that are sent with it:
// "4907+004/015+101/012".
var ownProduct = regexp.MustCompile(`^([0-9]{4,5})((?:\+[0-9]{3}/[0-9]{3})*)$`)

// readProducts reads the products of a contract, by PostNL's usual codes. A service
// stands for its usual code.
func readProducts(text string) (list map[string]product, ok bool) {
	list = map[string]product{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		replaced, written, _ := strings.Cut(pair, "=")
		usual := strings.TrimSpace(replaced)
		if named, ok := serviceByCode(usual); ok {
			usual = named.products.usual()
		}
		found := ownProduct.FindStringSubmatch(strings.ReplaceAll(written, " ", ""))
		if found == nil || !slices.Contains(usualCodes(), usual) {
			return nil, false
		}

		// A code of PostNL's needs its options wherever it is used.
		own := product{code: found[1], options: requiredOptions[found[1]]}
		if found[2] != "" {
			own.options = nil
			for option := range strings.SplitSeq(strings.TrimPrefix(found[2], "+"), "+") {
				characteristic, value, _ := strings.Cut(option, "/")
				own.options = append(own.options, productOption{characteristic, value})
			}
		}
		list[usual] = own
	}
	return list, true
}
