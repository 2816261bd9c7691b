package postnl

import "github.com/waybillhq/waybill/internal/carrier"

// A service is a product of PostNL.
type service struct {
	code, name string
	product    string // PostNL's usual code
	abroad     bool
	signed     bool // the recipient signs
	adult      bool // the age of the recipient is checked
	insured    bool
	homeOnly   bool // not to neighbours
}

var services = []service{
	{code: "standard", name: "PostNL Parcel", product: "3085"},
	{code: "home_only", name: "PostNL Parcel, Home Address Only", product: "3385", homeOnly: true},
	{code: "signature", name: "PostNL Parcel with Signature", product: "3189", signed: true},
	{code: "signature_home_only", name: "PostNL Parcel with Signature, Home Address Only", product: "3089", signed: true, homeOnly: true},
	{code: "insured", name: "PostNL Parcel, Extra Cover", product: "3087", signed: true, insured: true},
	{code: "age_check", name: "PostNL Parcel with Age Check", product: "3438", signed: true, adult: true, homeOnly: true},
	{code: "eu_parcel", name: "PostNL Parcel EU", product: "4907", abroad: true},
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

// barcodeType is that of parcels within the European Union.
// fact: barcode-type
const barcodeType = "3S"

// Kinds of addresses.
const (
	receiver = "01"
	sender   = "02"
)

// insuredAmount is the kind of an amount that the goods are insured for.
const insuredAmount = "02"

// Label formats of PostNL, by ours.
var printers = map[string]string{
	"pdf": "GraphicFile|PDF",
	"zpl": "Zebra|Generic ZPL II 200 dpi",
}
