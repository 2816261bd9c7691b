package wire

import "github.com/waybillhq/waybill/internal/ship"

// Address is where a parcel comes from or goes to, as the service keeps it.
type Address struct {
	Name        string `json:"name,omitempty" example:"Ada Lovelace" doc:"Person or, with company, who to ask for."`
	Address1    string `json:"address1,omitempty" example:"500 Main St" doc:"Street and number."`
	City        string `json:"city,omitempty" example:"Austin" doc:"City or town."`
	State       string `json:"state,omitempty" example:"TX" doc:"Code of the state or province."`
	Zip         string `json:"zip,omitempty" example:"78701" doc:"Postal code."`
	Country     string `json:"country" example:"US" doc:"ISO 3166-1 alpha-2 code."`
	Company     string `json:"company,omitempty" doc:"Company."`
	Address2    string `json:"address2,omitempty" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" doc:"Third line."`
	Phone       string `json:"phone,omitempty" doc:"Phone number for the driver."`
	Email       string `json:"email,omitempty" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether it is a residential address, if the request said so."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"What the party is to customs."`
}

// Options are extra services.
type Options struct {
	Signature        string `json:"signature,omitempty" enum:"standard,adult" doc:"Who must sign."`
	SaturdayDelivery bool   `json:"saturdayDelivery,omitempty" doc:"Deliver on a Saturday."`
	InsuredValue     *Money `json:"insuredValue,omitempty" doc:"Value that is insured."`
}

// Customs is the declaration of a parcel that crosses a border.
type Customs struct {
	ContentsType   string          `json:"contentsType" enum:"merchandise,gift,sample,documents,returned_goods,other" doc:"What is sent."`
	Incoterm       string          `json:"incoterm,omitempty" enum:"EXW,FCA,CPT,CIP,DAP,DPU,DDP" doc:"Who pays duties."`
	Signer         string          `json:"signer,omitempty" doc:"Who declares it."`
	InvoiceNumber  string          `json:"invoiceNumber,omitempty" doc:"Number of the invoice."`
	TaxIDs         []string        `json:"taxIds,omitempty" doc:"Tax numbers without a type."`
	Items          []CustomsItem   `json:"items" doc:"Lines of the declaration."`
	TaxIdentifiers []TaxIdentifier `json:"taxIdentifiers,omitempty" doc:"Tax and customs numbers of the parties."`
	Paperless      string          `json:"paperless,omitempty" enum:"auto,off" doc:"Whether the documents are sent electronically where that is possible."`
}

// TaxIdentifier is a number under which an authority knows a party.
type TaxIdentifier struct {
	Type    string `json:"type" enum:"eori,vat,ioss,voec,ein,gst,abn,arn,ird,pan,cnpj,cpf,national_id,passport,other" doc:"Kind of number."`
	Number  string `json:"number" example:"IM2760000742" doc:"The number, as it was issued."`
	Country string `json:"country,omitempty" example:"DE" doc:"Country that issued it."`
	Party   string `json:"party,omitempty" enum:"sender,recipient,importer" doc:"Whose number it is."`
}

// CustomsItem is one line of a declaration.
type CustomsItem struct {
	Description        string              `json:"description" example:"Cotton shirt" doc:"What it is."`
	Quantity           int                 `json:"quantity" example:"2" doc:"How many."`
	Value              Money               `json:"value" doc:"Value of one."`
	Weight             float64             `json:"weight,omitempty" doc:"Weight of one, in the account's unit."`
	HSCode             string              `json:"hsCode,omitempty" example:"610910" doc:"Harmonized System code."`
	OriginCountry      string              `json:"originCountry,omitempty" example:"PT" doc:"Where it was made."`
	SKU                string              `json:"sku,omitempty" example:"SHIRT-M-BLUE" doc:"The client's own number of the product."`
	Manufacturer       string              `json:"manufacturer,omitempty" doc:"Who made it."`
	ProductIdentifiers []ProductIdentifier `json:"productIdentifiers,omitempty" doc:"Identifiers of the product."`
}

// ProductIdentifier is a number under which a product is known.
type ProductIdentifier struct {
	Type   string `json:"type" enum:"merchant,manufacturer,gtin,none" doc:"Kind of identifier."`
	Number string `json:"number,omitempty" example:"4006381333931" doc:"The identifier; left out for none."`
}

// Billing says who pays the carrier.
type Billing struct {
	Type    string `json:"type" enum:"sender,recipient,third_party" doc:"Who pays the carrier."`
	Account string `json:"account" doc:"The payer's account with the carrier."`
	Zip     string `json:"zip,omitempty" doc:"Postal code of that account."`
	Country string `json:"country,omitempty" doc:"Country of that account."`
}

// Creation is the body of a POST /v1/shipments that ships an order again.
type Creation struct {
	OrderID     string            `json:"orderId" example:"ORD-1001" doc:"The client's order reference."`
	Destination Address           `json:"destination" doc:"Where the parcel goes."`
	Parcel      *Parcel           `json:"parcel,omitempty" doc:"The parcel, if there is one."`
	Parcels     []Parcel          `json:"parcels,omitempty" doc:"The parcels, if there are several."`
	Origin      *Address          `json:"origin,omitempty" doc:"Where the parcel comes from."`
	LabelFormat string            `json:"labelFormat,omitempty" enum:"pdf,zpl,png" doc:"Format to buy in."`
	Reference   string            `json:"reference,omitempty" doc:"A reference to print on the label."`
	IsReturn    bool              `json:"isReturn,omitempty" doc:"Whether the parcel is a return."`
	Billing     *Billing          `json:"billing,omitempty" doc:"Who pays the carrier, if not the account itself."`
	Customs     *Customs          `json:"customs,omitempty" doc:"Declaration, for a parcel that crosses a border."`
	Options     *Options          `json:"options,omitempty" doc:"Extra services."`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"The client's own notes."`
}

// WholeShipmentOf is s with its order, as it is read by itself. page is the
// address of the recipient's page, empty if there is none.
func WholeShipmentOf(s ship.Shipment, base, page string) Shipment {
	out := ShipmentOf(s, base)
	origin, destination := addressOf(s.Order.Origin), addressOf(s.Order.Destination)
	out.Origin = &origin
	out.Destination = &destination
	out.Parcels = parcelsOf(s.Order.Parcels)
	out.Customs = customsOf(s.Order.Customs)
	out.Options = optionsOf(s.Order.Options)
	out.ShipDate = string(s.Order.ShipDate)
	out.TrackingPageURL = page
	out.VoidedAt = Time(s.VoidedAt)
	return out
}

// CreatedShipmentOf is the answer to the creation of s, in the version that it
// was first answered with. Versions are never rendered in another way.
func CreatedShipmentOf(s ship.Shipment, base, page string) Shipment {
	out := WholeShipmentOf(s, base, page)
	if s.Version < 2 {
		out = ShipmentOf(s, base)
	}
	out.Status = string(ship.Created)
	for i := range out.Pieces {
		out.Pieces[i].Status = out.Status
	}
	return out
}

// CreationOf is an order as a client would send it.
func CreationOf(o ship.Order) Creation {
	origin := addressOf(o.Origin)
	out := Creation{
		OrderID:     o.OrderID,
		Destination: addressOf(o.Destination),
		Origin:      &origin,
		LabelFormat: o.LabelFormat,
		Reference:   o.Reference,
		IsReturn:    o.IsReturn,
		Customs:     customsOf(o.Customs),
		Options:     optionsOf(o.Options),
		Metadata:    o.Metadata,
	}
	if parcels := parcelsOf(o.Parcels); len(parcels) == 1 {
		out.Parcel = &parcels[0]
	} else {
		out.Parcels = parcels
	}
	if b := o.Billing; b != nil {
		out.Billing = &Billing{Type: b.Type, Account: b.Account, Zip: b.Zip, Country: b.Country}
	}
	return out
}

func addressOf(a ship.Address) Address {
	return Address{
		Name:        a.Name,
		Company:     a.Company,
		Address1:    a.Address1,
		Address2:    a.Address2,
		Address3:    a.Address3,
		City:        a.City,
		State:       a.State,
		Zip:         a.Zip,
		Country:     a.Country,
		Phone:       a.Phone,
		Email:       a.Email,
		Residential: a.Residential,
		Type:        a.Type,
	}
}

func parcelsOf(list []ship.Parcel) []Parcel {
	out := make([]Parcel, len(list))
	for i, p := range list {
		out[i] = ParcelOf(p)
	}
	return out
}

func optionsOf(o ship.Options) *Options {
	if o == (ship.Options{}) {
		return nil
	}
	return &Options{
		Signature:        o.Signature,
		SaturdayDelivery: o.SaturdayDelivery,
		InsuredValue:     moneyOf(o.InsuredValue),
	}
}

func customsOf(c *ship.Customs) *Customs {
	if c == nil {
		return nil
	}
	out := &Customs{
		ContentsType:  c.ContentsType,
		Incoterm:      c.Incoterm,
		Signer:        c.Signer,
		InvoiceNumber: c.InvoiceNumber,
		TaxIDs:        c.TaxIDs,
		Items:         make([]CustomsItem, len(c.Items)),
		Paperless:     c.Paperless,
	}
	for _, id := range c.TaxIdentifiers {
		out.TaxIdentifiers = append(out.TaxIdentifiers, TaxIdentifier{Type: id.Type, Number: id.Number, Country: id.Country, Party: id.Party})
	}
	for i, item := range c.Items {
		out.Items[i] = customsItemOf(item)
	}
	return out
}

func customsItemOf(item ship.CustomsItem) CustomsItem {
	out := CustomsItem{
		Description:   item.Description,
		Quantity:      item.Quantity,
		Value:         MoneyOf(item.Value),
		Weight:        item.Weight,
		HSCode:        item.HSCode,
		OriginCountry: item.OriginCountry,
		SKU:           item.SKU,
		Manufacturer:  item.Manufacturer,
	}
	for _, id := range item.ProductIdentifiers {
		out.ProductIdentifiers = append(out.ProductIdentifiers, ProductIdentifier{Type: id.Type, Number: id.Number})
	}
	return out
}
