package client

// An Address is a place that parcels come from or go to. Name, Address1, City
// and Country are required; the country decides about State and Zip.
type Address struct {
	Name        string `json:"name"`
	Company     string `json:"company,omitempty"`
	Address1    string `json:"address1"`
	Address2    string `json:"address2,omitempty"`
	Address3    string `json:"address3,omitempty"`
	City        string `json:"city"`
	State       string `json:"state,omitempty"`
	Zip         string `json:"zip,omitempty"`
	Country     string `json:"country"`
	Phone       string `json:"phone,omitempty"`
	Email       string `json:"email,omitempty"`
	Residential *bool  `json:"residential,omitempty"` // nil lets the carrier decide
	Type        string `json:"type,omitempty"`        // "business", "consumer": what the party is to customs

	// LocationID names a location of the account in place of all other fields,
	// where a request says what parcels are sent from. See AtLocation.
	LocationID string `json:"locationId,omitempty"`

	// ServicePoint is the carrier's id of the point at which the recipient
	// collects the parcel. Only a destination has one.
	ServicePoint string `json:"servicePoint,omitempty"`
}

// A Parcel is one piece. Empty units are the account's.
type Parcel struct {
	Weight     float64     `json:"weight"`
	WeightUnit string      `json:"weightUnit,omitempty"` // "lb", "oz", "kg", "g"
	Dimensions *Dimensions `json:"dimensions,omitempty"`
	Packaging  string      `json:"packaging,omitempty"` // "custom", or a carrier's code
}

// Dimensions are the sides of a parcel.
type Dimensions struct {
	Length float64 `json:"length"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Unit   string  `json:"unit,omitempty"` // "in", "cm", "mm"
}

// Money is an exact amount of a currency: "12.34", "USD".
type Money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// RatesRequest asks for prices. Either Parcel or Parcels is set.
type RatesRequest struct {
	Destination  Address          `json:"destination"`
	Parcel       *Parcel          `json:"parcel,omitempty"`
	Parcels      []Parcel         `json:"parcels,omitempty"`
	Origin       *Address         `json:"origin,omitempty"` // nil is the account's; see AtLocation
	Carriers     []string         `json:"carriers,omitempty"`
	Services     []string         `json:"services,omitempty"`
	ConnectionID string           `json:"connectionId,omitempty"`
	ShipDate     string           `json:"shipDate,omitempty"` // "2006-01-02"
	DeliverBy    string           `json:"deliverBy,omitempty"`
	Options      *ShippingOptions `json:"options,omitempty"`
	Customs      *Customs         `json:"customs,omitempty"`
	TimeoutMs    int              `json:"timeoutMs,omitempty"`
}

// ShipmentRequest orders a shipment. Either Parcel or Parcels is set.
type ShipmentRequest struct {
	OrderID          string            `json:"orderId"`
	Destination      Address           `json:"destination"`
	Parcel           *Parcel           `json:"parcel,omitempty"`
	Parcels          []Parcel          `json:"parcels,omitempty"`
	Origin           *Address          `json:"origin,omitempty"` // nil is the account's; see AtLocation
	Carrier          string            `json:"carrier,omitempty"`
	Service          string            `json:"service,omitempty"`
	ConnectionID     string            `json:"connectionId,omitempty"`
	RateID           string            `json:"rateId,omitempty"` // of a Rate
	MaxAmount        *Money            `json:"maxAmount,omitempty"`
	ShipDate         string            `json:"shipDate,omitempty"` // "2006-01-02"
	DeliverBy        string            `json:"deliverBy,omitempty"`
	LabelFormat      string            `json:"labelFormat,omitempty"` // "pdf", "zpl", "png"
	Reference        string            `json:"reference,omitempty"`
	IsReturn         bool              `json:"isReturn,omitempty"`
	Billing          *Billing          `json:"billing,omitempty"`
	Customs          *Customs          `json:"customs,omitempty"`
	Options          *ShippingOptions  `json:"options,omitempty"`
	OnDuplicateOrder string            `json:"onDuplicateOrder,omitempty"` // "allow", "return", "reject"
	Metadata         map[string]string `json:"metadata,omitempty"`

	AddressValidation string `json:"addressValidation,omitempty"` // "off", "warn" (default), "correct", "require"
}

// ReturnRequest says how the parcels of a shipment come back. Its zero value
// returns what was sent, by the account's routing rules.
type ReturnRequest struct {
	Parcel       *Parcel           `json:"parcel,omitempty"` // nil is the shipment's own
	Items        []CustomsItem     `json:"items,omitempty"`  // empty is the shipment's own declaration
	Carrier      string            `json:"carrier,omitempty"`
	Service      string            `json:"service,omitempty"`
	ConnectionID string            `json:"connectionId,omitempty"`
	MaxAmount    *Money            `json:"maxAmount,omitempty"`
	BillOn       string            `json:"billOn,omitempty"`   // "purchase", "scan"; needs Carrier
	Metadata     map[string]string `json:"metadata,omitempty"` // added to the shipment's own
	Again        bool              `json:"again,omitempty"`    // buy it even if the shipment has a return
}

// ShippingOptions are extra services.
type ShippingOptions struct {
	Signature        string `json:"signature,omitempty"` // "standard", "indirect", "direct", "adult"
	SaturdayDelivery bool   `json:"saturdayDelivery,omitempty"`
	InsuredValue     *Money `json:"insuredValue,omitempty"`

	HoldAtLocation         bool              `json:"holdAtLocation,omitempty"` // most carriers need Address.ServicePoint for it
	ReturnServiceRequested bool              `json:"returnServiceRequested,omitempty"`
	DryIce                 *DryIce           `json:"dryIce,omitempty"`
	Alcohol                bool              `json:"alcohol,omitempty"`
	LithiumBatteries       *LithiumBatteries `json:"lithiumBatteries,omitempty"`
	COD                    *COD              `json:"cod,omitempty"`
	CarbonNeutral          bool              `json:"carbonNeutral,omitempty"`
}

// DryIce is the dry ice in every parcel, in the unit of the first parcel.
type DryIce struct {
	Weight float64 `json:"weight"`
}

// LithiumBatteries are small lithium batteries in every parcel.
type LithiumBatteries struct {
	Type   string `json:"type"`   // "ion", "metal"
	Packed string `json:"packed"` // "in_equipment", "with_equipment", "alone"
}

// COD is money that the carrier collects on delivery.
type COD struct {
	Amount Money  `json:"amount"`
	Method string `json:"method,omitempty"` // "any" (default), "cash", "check", "guaranteed_funds"
}

// Billing says who pays the carrier, when it is not the account itself.
type Billing struct {
	Type    string `json:"type"` // "sender", "recipient", "third_party"
	Account string `json:"account,omitempty"`
	Zip     string `json:"zip,omitempty"`
	Country string `json:"country,omitempty"`
}

// Customs is the declaration of a parcel that crosses a border.
type Customs struct {
	ContentsType  string        `json:"contentsType"`
	Incoterm      string        `json:"incoterm,omitempty"`
	Signer        string        `json:"signer,omitempty"`
	InvoiceNumber string        `json:"invoiceNumber,omitempty"`
	TaxIDs        []string      `json:"taxIds,omitempty"` // without a type; prefer TaxIdentifiers
	Items         []CustomsItem `json:"items"`

	TaxIdentifiers []TaxIdentifier `json:"taxIdentifiers,omitempty"`
	Paperless      string          `json:"paperless,omitempty"` // "auto" (default), "off"
	// DocumentsFollow announces that documents are uploaded after the purchase,
	// which FedEx must know.
	DocumentsFollow bool `json:"documentsFollow,omitempty"`
}

// A TaxIdentifier is a number under which an authority knows a party.
type TaxIdentifier struct {
	Type    string `json:"type"` // "eori", "vat", "ioss", "voec", "ein", ..., "other"
	Number  string `json:"number"`
	Country string `json:"country,omitempty"` // that issued it
	Party   string `json:"party,omitempty"`   // "sender" (default), "recipient", "importer"
}

// A ProductIdentifier is a number by which a product is known to customs.
type ProductIdentifier struct {
	Type   string `json:"type"` // "merchant", "manufacturer", "gtin", "none"
	Number string `json:"number,omitempty"`
}

// A CustomsItem is one line of a declaration.
type CustomsItem struct {
	Description   string  `json:"description"`
	Quantity      int     `json:"quantity"`
	Value         Money   `json:"value"`            // of one
	Weight        float64 `json:"weight,omitempty"` // of one, in the unit of the first parcel
	HSCode        string  `json:"hsCode,omitempty"`
	OriginCountry string  `json:"originCountry,omitempty"`

	SKU                string              `json:"sku,omitempty"`
	Manufacturer       string              `json:"manufacturer,omitempty"`
	ProductIdentifiers []ProductIdentifier `json:"productIdentifiers,omitempty"`
}
