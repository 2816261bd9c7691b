package wire

import (
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// Address is where a parcel comes from or goes to, as the service stores it.
type Address struct {
	Name        string `json:"name,omitempty" example:"Ada Lovelace" doc:"Name of the person, or of the contact if company is given."`
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
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential, if the request said so."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party."`

	ServicePoint string `json:"servicePoint,omitempty" example:"U12345678" doc:"The carrier's service point at which the recipient collects the parcel. Only in destinations."`
}

// Options are extra services.
type Options struct {
	Signature        string `json:"signature,omitempty" enum:"standard,indirect,direct,adult" doc:"Signature required on delivery."`
	SaturdayDelivery bool   `json:"saturdayDelivery,omitempty" doc:"Deliver on a Saturday."`
	InsuredValue     *Money `json:"insuredValue,omitempty" doc:"Insured value."`

	HoldAtLocation         bool              `json:"holdAtLocation,omitempty" doc:"The carrier holds the parcel for the recipient to collect."`
	ReturnServiceRequested bool              `json:"returnServiceRequested,omitempty" doc:"A parcel that cannot be delivered is returned at once."`
	DryIce                 *DryIce           `json:"dryIce,omitempty" doc:"Dry ice in every parcel."`
	Alcohol                bool              `json:"alcohol,omitempty" doc:"The parcels contain alcoholic beverages."`
	LithiumBatteries       *LithiumBatteries `json:"lithiumBatteries,omitempty" doc:"Small lithium batteries in every parcel."`
	COD                    *COD              `json:"cod,omitempty" doc:"Money that the carrier collects on delivery."`
	CarbonNeutral          bool              `json:"carbonNeutral,omitempty" doc:"The carrier offsets the emissions."`
}

// DryIce is the dry ice in every parcel.
type DryIce struct {
	Weight float64 `json:"weight" example:"2.5" doc:"Weight of the dry ice in each parcel, in the unit of the first parcel."`
}

// LithiumBatteries are small lithium batteries in every parcel.
type LithiumBatteries struct {
	Type   string `json:"type" enum:"ion,metal" doc:"What they are made of."`
	Packed string `json:"packed" enum:"in_equipment,with_equipment,alone" doc:"How they are packed."`
}

// COD is money that the carrier collects on delivery.
type COD struct {
	Amount Money  `json:"amount" doc:"What the recipient pays."`
	Method string `json:"method" enum:"any,cash,check,guaranteed_funds" doc:"How the recipient pays."`
}

// Customs is the declaration of a parcel that crosses a border.
type Customs struct {
	ContentsType    string          `json:"contentsType" enum:"merchandise,gift,sample,documents,returned_goods,other" doc:"What the shipment contains."`
	Incoterm        string          `json:"incoterm,omitempty" enum:"EXW,FCA,CPT,CIP,DAP,DPU,DDP" doc:"Terms of sale, which decide who pays duties."`
	Signer          string          `json:"signer,omitempty" doc:"Name of the person who signs the declaration."`
	InvoiceNumber   string          `json:"invoiceNumber,omitempty" doc:"Invoice number."`
	TaxIDs          []string        `json:"taxIds,omitempty" doc:"Tax numbers without a type."`
	Items           []CustomsItem   `json:"items" doc:"Lines of the declaration."`
	TaxIdentifiers  []TaxIdentifier `json:"taxIdentifiers,omitempty" doc:"Tax and customs numbers of the parties."`
	Paperless       string          `json:"paperless,omitempty" enum:"auto,off" doc:"Whether customs documents are sent electronically where possible."`
	DocumentsFollow bool            `json:"documentsFollow,omitempty" doc:"Whether the purchase announced that documents follow."`
}

// TaxIdentifier is a number under which an authority knows a party.
type TaxIdentifier struct {
	Type    string `json:"type" enum:"eori,vat,ioss,voec,ein,gst,abn,arn,ird,pan,cnpj,cpf,national_id,passport,other" doc:"Kind of number."`
	Number  string `json:"number" example:"IM2760000742" doc:"The number as issued."`
	Country string `json:"country,omitempty" example:"DE" doc:"Country that issued the number."`
	Party   string `json:"party,omitempty" enum:"sender,recipient,importer" doc:"The party that the number belongs to."`
}

// CustomsItem is one line of a declaration.
type CustomsItem struct {
	Description        string              `json:"description" example:"Cotton shirt" doc:"Description of the goods."`
	Quantity           int                 `json:"quantity" example:"2" doc:"Number of units."`
	Value              Money               `json:"value" doc:"Value of one unit."`
	Weight             float64             `json:"weight,omitempty" doc:"Weight of one unit, in the account's unit."`
	HSCode             string              `json:"hsCode,omitempty" example:"610910" doc:"Harmonized System code."`
	OriginCountry      string              `json:"originCountry,omitempty" example:"PT" doc:"Country of origin."`
	SKU                string              `json:"sku,omitempty" example:"SHIRT-M-BLUE" doc:"The client's own product number."`
	Manufacturer       string              `json:"manufacturer,omitempty" doc:"Name of the manufacturer."`
	ProductIdentifiers []ProductIdentifier `json:"productIdentifiers,omitempty" doc:"Identifiers of the product."`
}

// ProductIdentifier is a number under which a product is known.
type ProductIdentifier struct {
	Type   string `json:"type" enum:"merchant,manufacturer,gtin,none" doc:"Kind of identifier."`
	Number string `json:"number,omitempty" example:"4006381333931" doc:"The identifier; omitted for none."`
}

// Billing says who pays the carrier.
type Billing struct {
	Type    string `json:"type" enum:"sender,recipient,third_party" doc:"Who pays the carrier."`
	Account string `json:"account" doc:"The payer's account with the carrier."`
	Zip     string `json:"zip,omitempty" doc:"Postal code of the payer's account."`
	Country string `json:"country,omitempty" doc:"Country of the payer's account."`
}

// Origin is where parcels come from: an address, or a location alone.
type Origin struct {
	LocationID  string `json:"locationId,omitempty" example:"loc_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The location, if the parcel came from one that still exists."`
	Name        string `json:"name,omitempty" doc:"Name of the person, or of the contact if company is given."`
	Company     string `json:"company,omitempty" doc:"Company."`
	Address1    string `json:"address1,omitempty" doc:"Street and number."`
	Address2    string `json:"address2,omitempty" doc:"Second line, such as a suite."`
	Address3    string `json:"address3,omitempty" doc:"Third line."`
	City        string `json:"city,omitempty" doc:"City or town."`
	State       string `json:"state,omitempty" doc:"State or province."`
	Zip         string `json:"zip,omitempty" doc:"Postal code."`
	Country     string `json:"country,omitempty" doc:"ISO 3166-1 alpha-2 code."`
	Phone       string `json:"phone,omitempty" doc:"Phone number."`
	Email       string `json:"email,omitempty" doc:"E-mail address."`
	Residential *bool  `json:"residential,omitempty" doc:"Whether the address is residential."`
	Type        string `json:"type,omitempty" enum:"business,consumer" doc:"How customs classifies the party."`
}

func originOf(order ship.Order) *Origin {
	if order.Location.ID != "" {
		return &Origin{LocationID: string(order.Location.ID)}
	}
	from := order.Origin
	return &Origin{
		Name:        from.Name,
		Company:     from.Company,
		Address1:    from.Address1,
		Address2:    from.Address2,
		Address3:    from.Address3,
		City:        from.City,
		State:       from.State,
		Zip:         from.Zip,
		Country:     from.Country,
		Phone:       from.Phone,
		Email:       from.Email,
		Residential: from.Residential,
		Type:        from.Type,
	}
}

// Creation is the body of a POST /v1/shipments that ships an order again.
type Creation struct {
	OrderID     string            `json:"orderId" example:"ORD-1001" doc:"The client's order reference."`
	Destination Address           `json:"destination" doc:"Where the parcel goes."`
	Parcel      *Parcel           `json:"parcel,omitempty" doc:"The parcel, if there is one."`
	Parcels     []Parcel          `json:"parcels,omitempty" doc:"The parcels, if there are several."`
	Origin      *Origin           `json:"origin,omitempty" doc:"Where the parcel comes from: an address, or a location of the account."`
	LabelFormat string            `json:"labelFormat,omitempty" enum:"pdf,zpl,png" doc:"Format in which the label is bought."`
	Reference   string            `json:"reference,omitempty" doc:"A reference to print on the label."`
	IsReturn    bool              `json:"isReturn,omitempty" doc:"Whether the parcel is a return."`
	Billing     *Billing          `json:"billing,omitempty" doc:"Who pays the carrier, if not the account itself."`
	Customs     *Customs          `json:"customs,omitempty" doc:"Customs declaration, for international shipments."`
	Options     *Options          `json:"options,omitempty" doc:"Extra services."`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"Custom key-value pairs of the client."`
}

// WholeShipmentOf is a shipment with its order, as it is read by itself. page is
// the address of the recipient's page, empty if there is none.
func WholeShipmentOf(shipment ship.Shipment, base, page string) Shipment {
	order := shipment.Order
	origin := AddressOf(order.Origin)
	destination := destinationOf(order)

	shown := ShipmentOf(shipment, base)
	shown.Origin = &origin
	shown.LocationID = string(order.Location.ID)
	shown.Destination = &destination
	shown.Parcels = parcelsOf(order.Parcels)
	shown.Customs = customsOf(order.Customs)
	shown.Options = optionsOf(order.Options)
	shown.IsReturn = order.IsReturn
	shown.ReturnOf = string(order.ReturnOf)
	shown.ShipDate = string(order.ShipDate)
	shown.TrackingPageURL = page
	shown.VoidedAt = Time(shipment.VoidedAt)
	shown.Approval = approvalOf(shipment.Approval)
	for _, kind := range shipment.Uploads {
		document := DocumentOf(shipment.ID, kind, len(shown.Documents)+1, base)
		document.Uploaded = true
		shown.Documents = append(shown.Documents, document)
	}
	return shown
}

func approvalOf(approval *ship.Approval) *Approval {
	if approval == nil {
		return nil
	}
	return &Approval{ID: string(approval.ID), Status: string(approval.Status)}
}

// DocumentOf is the document of a shipment with the number, from 1.
func DocumentOf(id ship.ShipmentID, kind string, number int, base string) Document {
	return Document{
		Type: kind,
		URL:  base + "/v1/shipments/" + string(id) + "/documents/" + strconv.Itoa(number),
	}
}

// CreatedShipmentOf is the answer to the creation of a shipment, in the version
// that it was first answered with. Versions are never rendered in another way.
func CreatedShipmentOf(shipment ship.Shipment, base, page string) Shipment {
	shipment.Uploads = nil // they come later
	shipment.Metadata = nil
	shown := WholeShipmentOf(shipment, base, page)
	if shipment.Version < 3 {
		shown.IsReturn = false
		shown.ReturnOf = ""
	}
	if shipment.Version < 2 {
		shown = ShipmentOf(shipment, base)
	}

	// A retry gets the answer of the first request, whatever has happened to
	// the parcel since.
	shown.Status = string(ship.Created)
	for i := range shown.Pieces {
		shown.Pieces[i].Status = shown.Status
	}
	return shown
}

// CreationOf is an order as a client would send it.
func CreationOf(order ship.Order) Creation {
	creation := Creation{
		OrderID:     order.OrderID,
		Destination: destinationOf(order),
		Origin:      originOf(order),
		LabelFormat: order.LabelFormat,
		Reference:   order.Reference,
		IsReturn:    order.IsReturn,
		Customs:     customsOf(order.Customs),
		Options:     optionsOf(order.Options),
		Metadata:    order.Metadata,
	}

	if parcels := parcelsOf(order.Parcels); len(parcels) == 1 {
		creation.Parcel = &parcels[0]
	} else {
		creation.Parcels = parcels
	}
	if billing := order.Billing; billing != nil {
		creation.Billing = &Billing{
			Type:    billing.Type,
			Account: billing.Account,
			Zip:     billing.Zip,
			Country: billing.Country,
		}
	}
	return creation
}

// AddressOf shows an address.
func AddressOf(address ship.Address) Address {
	return Address{
		Name:        address.Name,
		Company:     address.Company,
		Address1:    address.Address1,
		Address2:    address.Address2,
		Address3:    address.Address3,
		City:        address.City,
		State:       address.State,
		Zip:         address.Zip,
		Country:     address.Country,
		Phone:       address.Phone,
		Email:       address.Email,
		Residential: address.Residential,
		Type:        address.Type,
	}
}

func parcelsOf(parcels []ship.Parcel) []Parcel {
	list := make([]Parcel, len(parcels))
	for i, parcel := range parcels {
		list[i] = ParcelOf(parcel)
	}
	return list
}

// destinationOf shows where an order goes: the address, and the service point if
// the recipient collects the parcel there.
func destinationOf(order ship.Order) Address {
	destination := AddressOf(order.Destination)
	destination.ServicePoint = order.Options.ServicePoint
	return destination
}

func optionsOf(options ship.Options) *Options {
	options.ServicePoint = "" // it is shown with the destination
	if options == (ship.Options{}) {
		return nil
	}

	shown := &Options{
		Signature:              options.Signature,
		SaturdayDelivery:       options.SaturdayDelivery,
		InsuredValue:           moneyOf(options.InsuredValue),
		HoldAtLocation:         options.HoldAtLocation,
		ReturnServiceRequested: options.ReturnServiceRequested,
		Alcohol:                options.Alcohol,
		CarbonNeutral:          options.CarbonNeutral,
	}
	if options.DryIce != (ship.DryIce{}) {
		shown.DryIce = &DryIce{Weight: options.DryIce.Weight}
	}
	if batteries := options.LithiumBatteries; batteries != (ship.LithiumBatteries{}) {
		shown.LithiumBatteries = &LithiumBatteries{Type: batteries.Type, Packed: batteries.Packed}
	}
	if cod := options.COD; cod != (ship.COD{}) {
		shown.COD = &COD{Amount: MoneyOf(cod.Amount), Method: cod.Method}
	}
	return shown
}

func customsOf(customs *ship.Customs) *Customs {
	if customs == nil {
		return nil
	}

	declaration := &Customs{
		ContentsType:  customs.ContentsType,
		Incoterm:      customs.Incoterm,
		Signer:        customs.Signer,
		InvoiceNumber: customs.InvoiceNumber,
		TaxIDs:        customs.TaxIDs,
		Items:         make([]CustomsItem, len(customs.Items)),
		Paperless:     customs.Paperless,

		DocumentsFollow: customs.DocumentsFollow,
	}
	for i, item := range customs.Items {
		declaration.Items[i] = customsItemOf(item)
	}
	for _, id := range customs.TaxIdentifiers {
		declaration.TaxIdentifiers = append(declaration.TaxIdentifiers, TaxIdentifier{
			Type:    id.Type,
			Number:  id.Number,
			Country: id.Country,
			Party:   id.Party,
		})
	}
	return declaration
}

func customsItemOf(item ship.CustomsItem) CustomsItem {
	line := CustomsItem{
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
		line.ProductIdentifiers = append(line.ProductIdentifiers, ProductIdentifier{Type: id.Type, Number: id.Number})
	}
	return line
}
