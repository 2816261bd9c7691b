package api

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/ship"
)

// The shapes that requests are made of. The tags are the contract: they are
// checked before a handler runs, and the OpenAPI document shows them.

type addressInput struct {
	Name        string `json:"name" minLength:"1" maxLength:"100" example:"Ada Lovelace" doc:"Name of the person, or of the contact if company is given."`
	Address1    string `json:"address1" minLength:"1" maxLength:"100" example:"500 Main St" doc:"Street and number."`
	City        string `json:"city" minLength:"1" maxLength:"100" example:"Austin" doc:"City or town."`
	State       string `json:"state,omitempty" maxLength:"50" example:"TX" doc:"State or province, such as TX, US-TX or Texas. Required where the country's addresses need one."`
	Zip         string `json:"zip,omitempty" maxLength:"20" example:"78701" doc:"Postal code. Required except where the country has none."`
	Country     string `json:"country" minLength:"1" maxLength:"100" example:"US" doc:"ISO 3166-1 alpha-2 code, in upper or lower case."`
	Company     string `json:"company,omitempty" maxLength:"100" doc:"Company."`
	Address2    string `json:"address2,omitempty" maxLength:"100" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" maxLength:"100" doc:"Third line."`
	Phone       string `json:"phone,omitempty" maxLength:"30" doc:"Phone number for the driver."`
	Email       string `json:"email,omitempty" maxLength:"254" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential. If omitted, the carrier decides."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party. Required for shipments into the European Union."`
}

func (a addressInput) address() ship.Address {
	return ship.Address{
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

// recipientInput is an address that a shipment goes to.
type recipientInput struct {
	Name        string `json:"name" minLength:"1" maxLength:"100" example:"Ada Lovelace" doc:"Name of the person, or of the contact if company is given."`
	Address1    string `json:"address1" minLength:"1" maxLength:"100" example:"500 Main St" doc:"Street and number."`
	City        string `json:"city" minLength:"1" maxLength:"100" example:"Austin" doc:"City or town."`
	State       string `json:"state,omitempty" maxLength:"50" example:"TX" doc:"State or province, such as TX, US-TX or Texas. Required where the country's addresses need one."`
	Zip         string `json:"zip,omitempty" maxLength:"20" example:"78701" doc:"Postal code. Required except where the country has none."`
	Country     string `json:"country" minLength:"1" maxLength:"100" example:"US" doc:"ISO 3166-1 alpha-2 code, in upper or lower case."`
	Company     string `json:"company,omitempty" maxLength:"100" doc:"Company."`
	Address2    string `json:"address2,omitempty" maxLength:"100" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" maxLength:"100" doc:"Third line."`
	Phone       string `json:"phone,omitempty" maxLength:"30" doc:"Phone number for the driver."`
	Email       string `json:"email,omitempty" maxLength:"254" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential. If omitted, the carrier decides."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party. Required for shipments into the European Union."`

	ServicePoint string `json:"servicePoint,omitempty" minLength:"1" maxLength:"50" example:"U12345678" doc:"Deliver to this service point of the carrier, where the recipient collects the parcel: an id from GET /v1/service-points. Name the carrier too, because ids belong to one carrier. The address stays that of the recipient."`
}

func (r recipientInput) address() ship.Address {
	return ship.Address{
		Name:        r.Name,
		Company:     r.Company,
		Address1:    r.Address1,
		Address2:    r.Address2,
		Address3:    r.Address3,
		City:        r.City,
		State:       r.State,
		Zip:         r.Zip,
		Country:     r.Country,
		Phone:       r.Phone,
		Email:       r.Email,
		Residential: r.Residential,
		Type:        r.Type,
	}
}

type parcelInput struct {
	Weight     float64          `json:"weight" exclusiveMinimum:"0" maximum:"100000" example:"4.2" doc:"Weight in weightUnit."`
	WeightUnit string           `json:"weightUnit,omitempty" enum:"lb,oz,kg,g" doc:"Unit of the weight. Defaults to the account's unit, which is initially lb."`
	Dimensions *dimensionsInput `json:"dimensions,omitempty" doc:"Dimensions of the parcel."`
	Packaging  string           `json:"packaging,omitempty" maxLength:"50" example:"custom" doc:"custom (default) or a carrier's code from GET /v1/carriers."`
}

type dimensionsInput struct {
	Length float64 `json:"length" exclusiveMinimum:"0" maximum:"100000" example:"12" doc:"Longest side."`
	Width  float64 `json:"width" exclusiveMinimum:"0" maximum:"100000" example:"9" doc:"Second-longest side."`
	Height float64 `json:"height" exclusiveMinimum:"0" maximum:"100000" example:"4" doc:"Shortest side."`
	Unit   string  `json:"unit,omitempty" enum:"in,cm,mm" doc:"Unit of the dimensions. Defaults to the account's unit, which is initially in."`
}

func (p parcelInput) parcel() ship.Parcel {
	out := ship.Parcel{Weight: p.Weight, WeightUnit: ship.WeightUnit(p.WeightUnit), Packaging: p.Packaging}
	if p.Packaging == "custom" {
		out.Packaging = ""
	}

	if sides := p.Dimensions; sides != nil {
		out.Dimensions = &ship.Dimensions{
			Length: sides.Length,
			Width:  sides.Width,
			Height: sides.Height,
			Unit:   ship.LengthUnit(sides.Unit),
		}
	}
	return out
}

// parcelsOf reads "parcel" or "parcels", of which the schema allows one.
func parcelsOf(parcel *parcelInput, parcels []parcelInput) (out []ship.Parcel, oneParcel bool) {
	if parcel != nil {
		return []ship.Parcel{parcel.parcel()}, true
	}

	out = make([]ship.Parcel, len(parcels))
	for i, p := range parcels {
		out[i] = p.parcel()
	}
	return out, false
}

type moneyInput struct {
	Amount   string `json:"amount" pattern:"^[0-9]{1,12}(\\.[0-9]{1,4})?$" example:"12.34" doc:"Decimal amount, with at most as many decimal places as the currency has."`
	Currency string `json:"currency" pattern:"^[A-Z]{3}$" example:"USD" doc:"ISO 4217 code."`
}

// money reads an optional amount. One that is invalid is added to the list.
func (m *moneyInput) money(pointer string, invalid *[]ship.FieldError) ship.Money {
	if m == nil {
		return ship.Money{}
	}

	out, ok := ship.ParseMoney(m.Amount, m.Currency)
	isCode := len(m.Currency) == 3 && strings.ToUpper(m.Currency) == m.Currency
	_, isAmount := ship.ParseMoney(m.Amount, "CLF") // which has as many decimal places as any
	switch {
	case !isCode, !isAmount:
		// The schema refuses it.
	case !ship.IsCurrency(m.Currency):
		*invalid = append(*invalid, ship.FieldError{
			Pointer: pointer + "/currency",
			Code:    "invalid",
			Detail:  "is not a currency of ISO 4217",
		})
	case !ok:
		*invalid = append(*invalid, ship.FieldError{
			Pointer: pointer + "/amount",
			Code:    "invalid",
			Detail:  "has more decimal places than the currency allows",
		})
	}
	return out
}

type optionsInput struct {
	Signature        string      `json:"signature,omitempty" enum:"standard,indirect,direct,adult" doc:"Signature required on delivery: standard is the carrier's own, direct is by somebody at the address, indirect also by a neighbor, adult by an adult."`
	SaturdayDelivery bool        `json:"saturdayDelivery,omitempty" doc:"Deliver on a Saturday."`
	InsuredValue     *moneyInput `json:"insuredValue,omitempty" doc:"Value to insure."`

	HoldAtLocation         bool                   `json:"holdAtLocation,omitempty" doc:"The carrier holds the parcel for the recipient to collect. Most carriers need destination.servicePoint for it."`
	ReturnServiceRequested bool                   `json:"returnServiceRequested,omitempty" doc:"Return a parcel that cannot be delivered at once, with the reason."`
	DryIce                 *dryIceInput           `json:"dryIce,omitempty" doc:"Dry ice in every parcel."`
	Alcohol                bool                   `json:"alcohol,omitempty" doc:"The parcels contain alcoholic beverages. Carriers require a contract for them, and in the United States an adult signature."`
	LithiumBatteries       *lithiumBatteriesInput `json:"lithiumBatteries,omitempty" doc:"Small lithium batteries (IATA Section II) in every parcel."`
	COD                    *codInput              `json:"cod,omitempty" doc:"Money that the carrier collects on delivery."`
	CarbonNeutral          bool                   `json:"carbonNeutral,omitempty" doc:"Pay the carrier to offset the emissions."`
}

type dryIceInput struct {
	Weight float64 `json:"weight" exclusiveMinimum:"0" maximum:"100000" example:"2.5" doc:"Weight of the dry ice in each parcel, in the unit of the first parcel. The weight of the parcel includes it."`
}

type lithiumBatteriesInput struct {
	Type   string `json:"type" enum:"ion,metal" doc:"What they are made of."`
	Packed string `json:"packed" enum:"in_equipment,with_equipment,alone" doc:"How they are packed: inside the equipment, beside it, or without any."`
}

type codInput struct {
	Amount moneyInput `json:"amount" doc:"What the recipient pays."`
	Method string     `json:"method,omitempty" enum:"any,cash,check,guaranteed_funds" doc:"How the recipient pays; any by default. Guaranteed funds are a cashier's check or a money order."`
}

// options returns the options of an order that goes to a service point, or to
// none if the id is empty.
func (o *optionsInput) options(servicePoint string, invalid *[]ship.FieldError) ship.Options {
	if o == nil {
		return ship.Options{ServicePoint: servicePoint}
	}

	options := ship.Options{
		Signature:              o.Signature,
		SaturdayDelivery:       o.SaturdayDelivery,
		InsuredValue:           o.InsuredValue.money("/options/insuredValue", invalid),
		ServicePoint:           servicePoint,
		HoldAtLocation:         o.HoldAtLocation,
		ReturnServiceRequested: o.ReturnServiceRequested,
		Alcohol:                o.Alcohol,
		CarbonNeutral:          o.CarbonNeutral,
	}
	if o.DryIce != nil {
		options.DryIce = ship.DryIce{Weight: o.DryIce.Weight}
	}
	if o.LithiumBatteries != nil {
		options.LithiumBatteries = ship.LithiumBatteries(*o.LithiumBatteries)
	}
	if o.COD != nil {
		options.COD = ship.COD{
			Amount: o.COD.Amount.money("/options/cod/amount", invalid),
			Method: o.COD.Method,
		}
	}
	return options
}

type billingInput struct {
	Type    string `json:"type" enum:"sender,recipient,third_party" doc:"Who pays the carrier."`
	Account string `json:"account" minLength:"1" maxLength:"50" doc:"The payer's account with the carrier."`
	Zip     string `json:"zip,omitempty" maxLength:"20" doc:"Postal code of the payer's account."`
	Country string `json:"country,omitempty" maxLength:"2" doc:"Country of the payer's account."`
}

type customsInput struct {
	ContentsType  string             `json:"contentsType" enum:"merchandise,gift,sample,documents,returned_goods,other" doc:"What the shipment contains."`
	Incoterm      string             `json:"incoterm,omitempty" enum:"EXW,FCA,CPT,CIP,DAP,DPU,DDP" doc:"Terms of sale, which decide who pays duties."`
	Signer        string             `json:"signer,omitempty" maxLength:"100" doc:"Name of the person who signs the declaration."`
	InvoiceNumber string             `json:"invoiceNumber,omitempty" maxLength:"50" doc:"Invoice number."`
	TaxIDs        []string           `json:"taxIds,omitempty" maxItems:"10" minLength:"1" maxLength:"50" doc:"Tax numbers without a type. Prefer taxIdentifiers."`
	Items         []customsItemInput `json:"items" minItems:"1" maxItems:"100" doc:"Lines of the declaration."`

	TaxIdentifiers  []taxIdentifierInput `json:"taxIdentifiers,omitempty" maxItems:"20" doc:"Tax and customs numbers of the parties."`
	Paperless       string               `json:"paperless,omitempty" enum:"auto,off" doc:"auto (default) sends the customs documents electronically where the carrier and the destination allow it; off uses printed documents."`
	DocumentsFollow bool                 `json:"documentsFollow,omitempty" doc:"True if you upload documents after the purchase with POST /v1/shipments/{id}/documents. FedEx accepts them only if the purchase announced them; other carriers do not need it."`
}

type taxIdentifierInput struct {
	Type    string `json:"type" enum:"eori,vat,ioss,voec,ein,gst,abn,arn,ird,pan,cnpj,cpf,national_id,passport,other" doc:"Kind of number."`
	Number  string `json:"number" minLength:"1" maxLength:"50" example:"IM2760000742" doc:"The number as issued."`
	Country string `json:"country,omitempty" pattern:"^[A-Za-z]{2}$" example:"DE" doc:"Country that issued the number."`
	Party   string `json:"party,omitempty" enum:"sender,recipient,importer" doc:"The party that the number belongs to. The default is sender."`
}

type productIdentifierInput struct {
	Type   string `json:"type" enum:"merchant,manufacturer,gtin,none" doc:"Kind of identifier; none states that the product has no standardized one."`
	Number string `json:"number,omitempty" maxLength:"100" example:"4006381333931" doc:"The identifier; omitted for none."`
}

type customsItemInput struct {
	Description   string      `json:"description" minLength:"1" maxLength:"200" example:"Cotton shirt" doc:"Description of the goods."`
	Quantity      wholeNumber `json:"quantity" minimum:"1" maximum:"1000000" example:"2" doc:"Number of units."`
	Value         moneyInput  `json:"value" doc:"Value of one unit."`
	Weight        float64     `json:"weight,omitempty" minimum:"0" maximum:"100000" doc:"Weight of one unit, in the unit of the first parcel."`
	HSCode        string      `json:"hsCode,omitempty" pattern:"^[0-9]{6,10}$" example:"610910" doc:"Harmonized System code."`
	OriginCountry string      `json:"originCountry,omitempty" pattern:"^[A-Za-z]{2}$" example:"PT" doc:"Country of origin."`

	SKU                string                   `json:"sku,omitempty" maxLength:"100" example:"SHIRT-M-BLUE" doc:"Your own product number."`
	Manufacturer       string                   `json:"manufacturer,omitempty" maxLength:"100" doc:"Name of the manufacturer."`
	ProductIdentifiers []productIdentifierInput `json:"productIdentifiers,omitempty" maxItems:"6" doc:"Identifiers of the product. Required for consumer sales into the European Union."`
}

func (b *billingInput) billing() *ship.Billing {
	if b == nil {
		return nil
	}
	return &ship.Billing{
		Type:    b.Type,
		Account: b.Account,
		Zip:     b.Zip,
		Country: b.Country,
	}
}

func (c *customsInput) customs(invalid *[]ship.FieldError) *ship.Customs {
	if c == nil {
		return nil
	}

	out := &ship.Customs{
		ContentsType:  c.ContentsType,
		Incoterm:      c.Incoterm,
		Signer:        c.Signer,
		InvoiceNumber: c.InvoiceNumber,
		TaxIDs:        c.TaxIDs,
		Items:         make([]ship.CustomsItem, len(c.Items)),
		Paperless:     c.Paperless,

		DocumentsFollow: c.DocumentsFollow,
	}
	for _, id := range c.TaxIdentifiers {
		out.TaxIdentifiers = append(out.TaxIdentifiers, ship.TaxIdentifier(id))
	}

	for i, item := range c.Items {
		out.Items[i] = ship.CustomsItem{
			Description:   item.Description,
			Quantity:      int(item.Quantity),
			Weight:        item.Weight,
			Value:         item.Value.money("/customs/items/"+strconv.Itoa(i)+"/value", invalid),
			HSCode:        item.HSCode,
			OriginCountry: item.OriginCountry,
			SKU:           item.SKU,
			Manufacturer:  item.Manufacturer,
		}
		for _, id := range item.ProductIdentifiers {
			out.Items[i].ProductIdentifiers = append(out.Items[i].ProductIdentifiers, ship.ProductIdentifier(id))
		}
	}
	return out
}

// metadataInput is a set of the client's own notes.
type metadataInput map[string]string

// Schema limits the names and the values.
func (metadataInput) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString, MaxLength: new(500)}
	text.PrecomputeMessages()

	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: text,
		MaxProperties:        new(50),
		Extensions:           map[string]any{"propertyNames": map[string]any{"minLength": 1, "maxLength": 500}},
	}
}

// wholeNumber is an integer that may be written with a point, as JSON allows.
type wholeNumber int64

// UnmarshalJSON reads a number that the schema has found to be whole.
func (n *wholeNumber) UnmarshalJSON(text []byte) error {
	var value float64
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	*n = wholeNumber(math.Round(value))
	return nil
}
