package ship

import "time"

// An Order is what a client wants shipped, checked and normalized. It never
// changes after the shipment is created.
type Order struct {
	OrderID     string            `json:"orderId"`
	Reference   string            `json:"reference,omitempty"`
	Origin      Address           `json:"origin"`
	Location    OrderLocation     `json:"location,omitzero"` // that it leaves from; zero for an address of its own
	Destination Address           `json:"destination"`
	Parcels     []Parcel          `json:"parcels"`
	ShipDate    Date              `json:"shipDate,omitzero"`
	DeliverBy   Date              `json:"deliverBy,omitzero"`
	LabelFormat string            `json:"labelFormat,omitempty"`
	IsReturn    bool              `json:"isReturn,omitempty"`
	ReturnOf    ShipmentID        `json:"returnOf,omitempty"` // the shipment whose parcels come back
	Options     Options           `json:"options,omitzero"`
	Billing     *Billing          `json:"billing,omitempty"`
	Customs     *Customs          `json:"customs,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// A Date is a calendar day, "2006-01-02", in the place it speaks of.
type Date string

// DateOf is the UTC day of t.
func DateOf(t time.Time) Date { return Date(t.UTC().Format(time.DateOnly)) }

// ParseDate reads a calendar day.
func ParseDate(s string) (Date, bool) {
	_, err := time.Parse(time.DateOnly, s)
	return Date(s), err == nil
}

// Time is the day's start in UTC; the zero time for no day.
func (d Date) Time() time.Time {
	t, _ := time.Parse(time.DateOnly, string(d))
	return t
}

// A Parcel is one piece: what the client said, and the same in grams and
// millimetres.
type Parcel struct {
	Weight      float64     `json:"weight"`
	WeightUnit  WeightUnit  `json:"weightUnit"`
	WeightGrams int64       `json:"grams"`
	Dimensions  *Dimensions `json:"dimensions,omitempty"`
	Packaging   string      `json:"packaging,omitempty"` // a carrier's code; empty means the client's own box
}

// Dimensions are the sides of a parcel.
type Dimensions struct {
	Length   float64    `json:"length"`
	Width    float64    `json:"width"`
	Height   float64    `json:"height"`
	Unit     LengthUnit `json:"unit"`
	LengthMM int64      `json:"lengthMm"`
	WidthMM  int64      `json:"widthMm"`
	HeightMM int64      `json:"heightMm"`
}

// Billing says who pays the carrier, when it is not the account itself.
type Billing struct {
	Type    string `json:"type"` // "sender", "recipient", "third_party"
	Account string `json:"account"`
	Zip     string `json:"zip,omitempty"`
	Country string `json:"country,omitempty"`
}

// Customs is the declaration of a parcel that crosses a border.
type Customs struct {
	ContentsType  string        `json:"contentsType"`
	Incoterm      string        `json:"incoterm,omitempty"`
	Signer        string        `json:"signer,omitempty"`
	InvoiceNumber string        `json:"invoiceNumber,omitempty"`
	TaxIDs        []string      `json:"taxIds,omitempty"` // untyped; TaxNumbers has them as "other"
	Items         []CustomsItem `json:"items"`

	TaxIdentifiers []TaxIdentifier `json:"taxIdentifiers,omitempty"`
	Paperless      string          `json:"paperless,omitempty"` // "", "auto": where carrier and lane allow; "off": printed papers
	// DocumentsFollow says that the client uploads documents after the purchase,
	// which some carriers must know when they sell the label.
	DocumentsFollow bool `json:"documentsFollow,omitempty"`
}

// A TaxIdentifier is a number under which a tax or customs authority knows a
// party of the shipment.
type TaxIdentifier struct {
	Type    string `json:"type"` // one of TaxIdentifierTypes
	Number  string `json:"number"`
	Country string `json:"country,omitempty"` // that issued it
	Party   string `json:"party,omitempty"`   // one of TaxParties; empty means the sender
}

// TaxIdentifierTypes are the kinds of tax identifiers.
var TaxIdentifierTypes = []string{
	"eori", "vat", "ioss", "voec", "ein", "gst", "abn", "arn", "ird", "pan", "cnpj", "cpf", "national_id", "passport", "other",
}

// TaxParties are whom a tax identifier can belong to.
var TaxParties = []string{"sender", "recipient", "importer"}

// TaxNumbers are all tax identifiers of the declaration. Each has a party; the
// untyped numbers of TaxIDs come last, as the sender's.
func (c *Customs) TaxNumbers() []TaxIdentifier {
	if c == nil {
		return nil
	}

	all := make([]TaxIdentifier, 0, len(c.TaxIdentifiers)+len(c.TaxIDs))
	for _, id := range c.TaxIdentifiers {
		if id.Party == "" {
			id.Party = "sender"
		}
		all = append(all, id)
	}
	for _, number := range c.TaxIDs {
		all = append(all, TaxIdentifier{Type: "other", Number: number, Party: "sender"})
	}
	return all
}

// ContentsTypes are what a declaration can be about, the usual one first.
var ContentsTypes = []string{"merchandise", "gift", "sample", "documents", "returned_goods", "other"}

// A CustomsItem is one line of a declaration.
type CustomsItem struct {
	Description   string  `json:"description"`
	Quantity      int     `json:"quantity"`
	Value         Money   `json:"value"` // of one
	WeightGrams   int64   `json:"grams,omitempty"`
	Weight        float64 `json:"weight,omitempty"` // of one, in the unit of the first parcel
	HSCode        string  `json:"hsCode,omitempty"`
	OriginCountry string  `json:"originCountry,omitempty"`

	SKU                string              `json:"sku,omitempty"`
	Manufacturer       string              `json:"manufacturer,omitempty"`
	ProductIdentifiers []ProductIdentifier `json:"productIdentifiers,omitempty"`
}

// WeightIn returns the weight of one in a unit: as the client wrote it if that
// was the unit, else converted.
func (item CustomsItem) WeightIn(unit WeightUnit) float64 {
	if unit.Grams(item.Weight) == item.WeightGrams {
		return item.Weight
	}
	return unit.Of(item.WeightGrams)
}

// A ProductIdentifier is a number by which a product is known, as customs of
// the European Union ask for it.
type ProductIdentifier struct {
	Type   string `json:"type"`             // one of ProductIdentifierTypes
	Number string `json:"number,omitempty"` // empty for "none"
}

// ProductIdentifierTypes are the kinds of product identifiers. "none" states
// that the product has no standardized one.
var ProductIdentifierTypes = []string{"merchant", "manufacturer", "gtin", "none"}

// A Rate is a carrier's offer.
type Rate struct {
	Carrier     string       `json:"carrier"`
	Connection  ConnectionID `json:"connection,omitempty"`
	Service     string       `json:"service"`
	ServiceName string       `json:"serviceName"`
	Price       Money        `json:"price"`
	TransitDays int          `json:"transitDays,omitempty"`
	DeliveryAt  time.Time    `json:"deliveryAt,omitzero"`
	Guaranteed  bool         `json:"guaranteed,omitempty"`
	Source      string       `json:"source,omitempty"` // "sheet": by the account's rate sheet; "cache": quoted minutes ago; else by the carrier now

	// Selection is what the driver needs to buy exactly this offer, such as a
	// product code. Only the driver that quoted reads it; MaxSelection bounds it.
	Selection string `json:"selection,omitempty"`

	// What follows is shown with a quote. It decides nothing and is not stored
	// with the shipments that were chosen by it.

	ListPrice           Money    `json:"-"` // the carrier's published price, where it is given beside the account's own
	Charges             []Charge `json:"-"` // what the price consists of; their sum is the price
	BillableWeightGrams int64    `json:"-"` // what the carrier charges for, all pieces together; zero if unknown
}

// MaxSelection is the length of a Selection at most, in bytes: a rate id holds
// it and has 255 characters.
const MaxSelection = 64

// A Charge is a part of a price. Discounts are negative.
type Charge struct {
	Type   ChargeType
	Amount Money
}

// A ChargeType says what a part of a price is for.
type ChargeType string

// The types of charges. What a carrier charges under any other name is
// OtherCharge.
const (
	BaseCharge        ChargeType = "base" // transportation
	FuelCharge        ChargeType = "fuel"
	ResidentialCharge ChargeType = "residential"
	DeliveryArea      ChargeType = "delivery_area" // remote or extended areas
	SignatureCharge   ChargeType = "signature"
	InsuranceCharge   ChargeType = "insurance"
	SaturdayCharge    ChargeType = "saturday_delivery"
	OversizeCharge    ChargeType = "oversize" // size, weight or shape that needs additional handling
	PeakCharge        ChargeType = "peak"     // demand surcharges
	TaxCharge         ChargeType = "tax"
	DiscountCharge    ChargeType = "discount"
	OtherCharge       ChargeType = "other"
)

// A Sale is what a carrier sold.
type Sale struct {
	Carrier        string
	Service        string
	ServiceName    string
	CarrierRef     string // the carrier's id of the shipment, needed to void it
	TrackingNumber string // the master, or the first piece's
	Pieces         []string
	Price          Money
	DeliveryAt     time.Time
	Label          Label
	Documents      []Document
	Warnings       []string
}

// A Label is what came from the carrier, as it came.
type Label struct {
	Format string // "scene" (ours), "pdf", "zpl", "png", "gif"
	Data   []byte
}

// A Document is a further paper of a purchase, such as a customs form.
type Document struct {
	Type   string `json:"type"`
	Format string `json:"format"`
	Data   []byte `json:"data,omitempty"`
}
