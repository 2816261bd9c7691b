package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/client"
)

// addressIn is an address as tools take it.
type addressIn struct {
	Name        string `json:"name" minLength:"1" maxLength:"100" doc:"Name of the person or department."`
	Company     string `json:"company,omitempty" maxLength:"100"`
	Address1    string `json:"address1" minLength:"1" maxLength:"100" doc:"Street and number."`
	Address2    string `json:"address2,omitempty" maxLength:"100" doc:"Apartment, suite or floor."`
	City        string `json:"city" minLength:"1" maxLength:"100"`
	State       string `json:"state,omitempty" maxLength:"50" doc:"State or province, where the country has them."`
	Zip         string `json:"zip,omitempty" maxLength:"20" doc:"Postal code."`
	Country     string `json:"country" minLength:"2" maxLength:"2" doc:"ISO 3166-1 alpha-2 code, such as US."`
	Phone       string `json:"phone,omitempty" maxLength:"40"`
	Email       string `json:"email,omitempty" maxLength:"200"`
	Residential *bool  `json:"residential,omitempty" doc:"Whether somebody lives there; leave it out if not known."`
}

func (a addressIn) address() client.Address {
	return client.Address{
		Name:        a.Name,
		Company:     a.Company,
		Address1:    a.Address1,
		Address2:    a.Address2,
		City:        a.City,
		State:       a.State,
		Zip:         a.Zip,
		Country:     a.Country,
		Phone:       a.Phone,
		Email:       a.Email,
		Residential: a.Residential,
	}
}

// parcelIn is a parcel as tools take it. The units are required: a model that guesses
// them buys the wrong label.
type parcelIn struct {
	Weight     float64       `json:"weight" exclusiveMinimum:"0" doc:"Weight of the parcel."`
	WeightUnit string        `json:"weightUnit" enum:"lb,oz,kg,g" doc:"Unit of the weight. Ask the person if it is not known."`
	Dimensions *dimensionsIn `json:"dimensions,omitempty"`
	Packaging  string        `json:"packaging,omitempty" maxLength:"50" doc:"A carrier's packaging code from list_carriers; own packaging if left out."`
}

type dimensionsIn struct {
	Length float64 `json:"length" exclusiveMinimum:"0"`
	Width  float64 `json:"width" exclusiveMinimum:"0"`
	Height float64 `json:"height" exclusiveMinimum:"0"`
	Unit   string  `json:"unit" enum:"in,cm,mm"`
}

// Goods are what is sent, and from where to where. The name is exported because
// fields of it belong to the schemas that it is embedded in.
type Goods struct {
	Destination addressIn               `json:"destination" doc:"Where the parcels go."`
	Parcels     []parcelIn              `json:"parcels" minItems:"1" maxItems:"20" doc:"The parcels of the shipment."`
	LocationID  string                  `json:"locationId,omitempty" maxLength:"40" doc:"A location of the account that the parcels leave from; the default location if left out."`
	Origin      *addressIn              `json:"origin,omitempty" doc:"An address that the parcels leave from, instead of a location."`
	ShipDate    string                  `json:"shipDate,omitempty" format:"date" doc:"Day of the hand-over; today if left out."`
	DeliverBy   string                  `json:"deliverBy,omitempty" format:"date" doc:"Day by which the parcels must arrive."`
	Options     *client.ShippingOptions `json:"options,omitempty" doc:"Extra services."`
	Customs     *client.Customs         `json:"customs,omitempty" doc:"Customs declaration, for parcels that cross a border."`
}

func (g Goods) origin() *client.Address {
	switch {
	case g.LocationID != "":
		return &client.Address{LocationID: g.LocationID}
	case g.Origin != nil:
		from := g.Origin.address()
		return &from
	}
	return nil
}

func (g Goods) parcels() []client.Parcel {
	list := make([]client.Parcel, len(g.Parcels))
	for i, parcel := range g.Parcels {
		list[i] = client.Parcel{Weight: parcel.Weight, WeightUnit: parcel.WeightUnit, Packaging: parcel.Packaging}
		if size := parcel.Dimensions; size != nil {
			list[i].Dimensions = &client.Dimensions{Length: size.Length, Width: size.Width, Height: size.Height, Unit: size.Unit}
		}
	}
	return list
}

func (g Goods) rates() client.RatesRequest {
	return client.RatesRequest{
		Destination: g.Destination.address(),
		Parcels:     g.parcels(),
		Origin:      g.origin(),
		ShipDate:    g.ShipDate,
		DeliverBy:   g.DeliverBy,
		Options:     g.Options,
		Customs:     g.Customs,
	}
}

// orderIn is an order that is to be bought.
type orderIn struct {
	OrderID string `json:"orderId" minLength:"1" maxLength:"100" doc:"The order's own number. One order gets one label."`
	Goods
	LabelFormat string `json:"labelFormat,omitempty" enum:"pdf,zpl,png"`
	Reference   string `json:"reference,omitempty" maxLength:"100" doc:"A reference to print on the label."`
}

// gramsIn are the grams in a unit of weight.
var gramsIn = map[string]float64{"lb": 453.59237, "oz": 28.349523125, "kg": 1000, "g": 1}

// weightText writes a weight in its unit and in another, so that a wrong unit shows.
func weightText(weight float64, unit string) string {
	grams := weight * gramsIn[unit]
	number := func(x float64, decimals int) string {
		text := strconv.FormatFloat(x, 'f', decimals, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	other := number(grams/gramsIn["kg"], 2) + " kg"
	if unit == "kg" || unit == "g" {
		other = number(grams/gramsIn["lb"], 2) + " lb"
	}
	return number(weight, 3) + " " + unit + " (" + other + ")"
}

// printed returns an address as it is on the label.
func printed(a client.Address) []string {
	var lines []string
	for _, line := range []string{
		a.Name,
		a.Company,
		a.Address1,
		a.Address2,
		a.Address3,
		strings.TrimSpace(strings.Join(strings.Fields(a.City+" "+a.State+" "+a.Zip), " ")),
		a.Country,
	} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// remarshal reads a value into another of the same shape.
func remarshal(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
