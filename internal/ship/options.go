package ship

import "fmt"

// Options are extra services. They are part of what is quoted.
type Options struct {
	Signature        string `json:"signature,omitempty"` // "" or one of Signatures
	SaturdayDelivery bool   `json:"saturdayDelivery,omitempty"`
	InsuredValue     Money  `json:"insuredValue,omitzero"`

	// ServicePoint is the carrier's id of the point that the parcel goes to,
	// where the recipient collects it; empty for delivery to the address.
	ServicePoint string `json:"servicePoint,omitempty"`

	HoldAtLocation         bool             `json:"holdAtLocation,omitempty"`         // the recipient collects the parcel
	ReturnServiceRequested bool             `json:"returnServiceRequested,omitempty"` // what cannot be delivered comes back at once
	DryIce                 DryIce           `json:"dryIce,omitzero"`
	Alcohol                bool             `json:"alcohol,omitempty"`
	LithiumBatteries       LithiumBatteries `json:"lithiumBatteries,omitzero"`
	COD                    COD              `json:"cod,omitzero"`
	CarbonNeutral          bool             `json:"carbonNeutral,omitempty"`
}

// Signatures are the signatures on delivery. "standard" is what the carrier
// calls its signature; "direct" is that of somebody at the address, "indirect"
// also that of a neighbour.
var Signatures = []string{"standard", "indirect", "direct", "adult"}

// DryIce is the dry ice in every parcel.
type DryIce struct {
	Weight      float64 `json:"weight"` // in the unit of the first parcel
	WeightGrams int64   `json:"grams"`
}

// LithiumBatteries are small lithium batteries (Section II of the IATA packing
// instructions) in every parcel.
type LithiumBatteries struct {
	Type   string `json:"type"`   // one of BatteryTypes
	Packed string `json:"packed"` // one of BatteryPackings
}

// BatteryTypes are what lithium batteries are made of.
var BatteryTypes = []string{"ion", "metal"}

// BatteryPackings are how lithium batteries are packed: inside the equipment,
// beside it in the same parcel, or without any.
var BatteryPackings = []string{"in_equipment", "with_equipment", "alone"}

// COD is money that the carrier collects from the recipient on delivery.
type COD struct {
	Amount Money  `json:"amount"`
	Method string `json:"method,omitempty"` // one of CODMethods; empty means any
}

// CODMethods are the ways to pay on delivery. Guaranteed funds are a cashier's
// check or a money order.
var CODMethods = []string{"any", "cash", "check", "guaranteed_funds"}

// An Extra is an option that not every carrier and service can do. A service
// that cannot is not offered.
type Extra string

// The extras.
const (
	ExtraServicePoint      Extra = "service_point"
	ExtraIndirectSignature Extra = "indirect_signature"
	ExtraDirectSignature   Extra = "direct_signature"
	ExtraHoldAtLocation    Extra = "hold_at_location"
	ExtraReturnService     Extra = "return_service"
	ExtraDryIce            Extra = "dry_ice"
	ExtraAlcohol           Extra = "alcohol"
	ExtraLithiumBatteries  Extra = "lithium_batteries"
	ExtraCOD               Extra = "cod"
	ExtraCarbonNeutral     Extra = "carbon_neutral"
)

// extras lists the extras: where a client asks for them, and what they are in
// words that follow "does not offer".
var extras = []struct {
	extra         Extra
	pointer, noun string
	wanted        func(*Options) bool
}{
	{ExtraServicePoint, "/destination/servicePoint", "delivery to a service point", func(o *Options) bool { return o.ServicePoint != "" }},
	{ExtraIndirectSignature, "/options/signature", "indirect signatures", func(o *Options) bool { return o.Signature == "indirect" }},
	{ExtraDirectSignature, "/options/signature", "direct signatures", func(o *Options) bool { return o.Signature == "direct" }},
	{ExtraHoldAtLocation, "/options/holdAtLocation", "holding parcels for collection", func(o *Options) bool { return o.HoldAtLocation }},
	{ExtraReturnService, "/options/returnServiceRequested", "return service for undeliverable parcels", func(o *Options) bool { return o.ReturnServiceRequested }},
	{ExtraDryIce, "/options/dryIce", "dry ice", func(o *Options) bool { return o.DryIce != (DryIce{}) }},
	{ExtraAlcohol, "/options/alcohol", "shipments of alcohol", func(o *Options) bool { return o.Alcohol }},
	{ExtraLithiumBatteries, "/options/lithiumBatteries", "shipments of lithium batteries", func(o *Options) bool { return o.LithiumBatteries != (LithiumBatteries{}) }},
	{ExtraCOD, "/options/cod", "cash on delivery", func(o *Options) bool { return o.COD != (COD{}) }},
	{ExtraCarbonNeutral, "/options/carbonNeutral", "carbon-neutral shipping", func(o *Options) bool { return o.CarbonNeutral }},
}

// AllExtras returns every extra, in the order of the documentation.
func AllExtras() []Extra {
	list := make([]Extra, len(extras))
	for i := range extras {
		list[i] = extras[i].extra
	}
	return list
}

// Extras returns the extras that the options ask for. Nearly all orders have
// none, and then it costs one comparison.
func (o *Options) Extras() []Extra {
	usual := Options{SaturdayDelivery: o.SaturdayDelivery, InsuredValue: o.InsuredValue}
	if o.Signature == "standard" || o.Signature == "adult" {
		usual.Signature = o.Signature
	}
	if *o == usual {
		return nil
	}

	var list []Extra
	for i := range extras {
		if extras[i].wanted(o) {
			list = append(list, extras[i].extra)
		}
	}
	return list
}

// Pointer returns the field of an order that asks for the extra.
func (e Extra) Pointer() string {
	for i := range extras {
		if extras[i].extra == e {
			return extras[i].pointer
		}
	}
	return ""
}

// String names the extra in words that follow "does not offer".
func (e Extra) String() string {
	for i := range extras {
		if extras[i].extra == e {
			return extras[i].noun
		}
	}
	return string(e)
}

// maxServicePoint is the length of a service point's id at most.
const maxServicePoint = 50

// options returns the options as stored. Weights are in the unit of the first
// parcel.
func (c *checker) options(o Options, parcels []Parcel, units Units) Options {
	if o.Signature != "" {
		c.oneOf("/options/signature", o.Signature, Signatures...)
	}
	if o.ServicePoint != "" {
		o.ServicePoint = c.text("/destination/servicePoint", o.ServicePoint, maxServicePoint, false)
	}

	if o.DryIce != (DryIce{}) {
		c.positive("/options/dryIce/weight", o.DryIce.Weight, maxWeight)
		o.DryIce.WeightGrams = itemUnit(parcels, units).Grams(o.DryIce.Weight)
		for i := range parcels {
			if o.DryIce.WeightGrams > parcels[i].WeightGrams {
				c.fail("/options/dryIce/weight", "invalid", fmt.Sprintf("must not exceed the weight of parcel %d, which includes the dry ice in it", i+1))
				break
			}
		}
	}

	if batteries := o.LithiumBatteries; batteries != (LithiumBatteries{}) {
		c.oneOf("/options/lithiumBatteries/type", batteries.Type, BatteryTypes...)
		c.oneOf("/options/lithiumBatteries/packed", batteries.Packed, BatteryPackings...)
	}

	if o.COD != (COD{}) {
		if o.COD.Method == "" {
			o.COD.Method = "any"
		}
		c.oneOf("/options/cod/method", o.COD.Method, CODMethods...)
		if o.COD.Amount.Minor <= 0 {
			c.fail("/options/cod/amount", "invalid", "must be greater than 0")
		}
	}
	return o
}
