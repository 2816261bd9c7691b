package ship

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Limits of an order.
const (
	MaxParcels  = 50
	MaxItems    = 100
	MaxMetadata = 50

	maxOrderID   = 100
	maxReference = 100
	maxNote      = 500
	maxWeight    = 1_000_000
	maxLength    = 100_000

	maxTaxIdentifiers     = 20
	maxProductIdentifiers = 6
)

// sampleOrigin is where test shipments come from when the account has no
// location yet, so that a new test key works at once.
var sampleOrigin = Address{
	Name:     "Sample Warehouse",
	Address1: "1 Market Street",
	City:     "San Francisco",
	State:    "CA",
	Zip:      "94105",
	Country:  "US",
	Phone:    "4155550100",
}

// DemoOrigin is where the demo account of "waybill dev" ships from. It is complete: carriers
// ask for a phone number of the sender. Nothing is sold to ship from there.
var DemoOrigin = Address{
	Name:     "Demo Warehouse",
	Address1: "1201 S Figueroa St",
	City:     "Los Angeles",
	State:    "CA",
	Zip:      "90015",
	Country:  "US",
	Phone:    "+12135550142",
}

func isDemo(a Address) bool { return a.Name == DemoOrigin.Name && a.Address1 == DemoOrigin.Address1 }

// Normalizing is how an order is read: for whom, and what the client wrote.
type Normalizing struct {
	Tenant    Tenant
	Account   Account
	OneParcel bool // the client wrote "parcel": errors point there
	Quote     bool // no order number is needed
	Estimate  bool // of the destination only country and postal code are needed
	Now       time.Time
}

// Normalize returns the order as stored, or an Invalid error that lists all its
// invalid fields.
func (o Order) Normalize(n Normalizing) (Order, error) {
	c := checker{}
	if !n.Quote {
		o.OrderID = c.text("/orderId", o.OrderID, maxOrderID, true)
	}
	o.Reference = c.text("/reference", o.Reference, maxReference, false)

	c.origin(&o, n)
	destination, invalid := o.Destination.normalize(addressCheck{prefix: "/destination", partial: n.Estimate})
	o.Destination = destination
	c.add(invalid...)
	o.Parcels = c.parcels(o.Parcels, n)

	// The day is that of the place: yesterday in UTC may still be today there.
	if o.ShipDate == "" {
		o.ShipDate = DateOf(n.Now)
	} else if c.date("/shipDate", o.ShipDate) && o.ShipDate < DateOf(n.Now.AddDate(0, 0, -1)) {
		c.fail("/shipDate", "invalid", "must not be in the past")
	}
	c.date("/deliverBy", o.DeliverBy)

	c.oneOf("/labelFormat", o.LabelFormat, "", "pdf", "zpl", "png")
	o.Options = c.options(o.Options, o.Parcels, n.Account.Units)
	c.metadata(o.Metadata)
	o.Customs = c.customs(o.Customs, itemUnit(o.Parcels, n.Account.Units))
	o.Billing = c.billing(o.Billing)

	if len(c.errors) > 0 {
		return o, InvalidFields(c.errors)
	}
	switch {
	case o.Origin == (Address{}):
		return o, Coded(Invalid, "origin_required", "the shipment has no origin: send one, or set the account's default location")
	case n.Tenant.Livemode && isDemo(o.Origin):
		return o, Coded(Invalid, "origin_required", "the origin is the sample address of the demo account, which no parcel leaves from: send your own, or set the account's default location")
	}
	return o, nil
}

// checker collects invalid fields.
type checker struct{ errors []FieldError }

func (c *checker) add(invalid ...FieldError) { c.errors = append(c.errors, invalid...) }

func (c *checker) fail(pointer, code, detail string) {
	c.add(FieldError{Pointer: pointer, Code: code, Detail: detail})
}

func (c *checker) text(pointer, s string, limit int, required bool) string {
	clean, code := cleanText(s, limit)
	switch {
	case code == "too_long":
		c.fail(pointer, code, fmt.Sprintf("must have at most %d characters", limit))
	case code != "":
		c.fail(pointer, code, "contains characters that cannot be printed")
	case clean == "" && required:
		c.fail(pointer, "required", "is required")
	}
	return clean
}

func (c *checker) oneOf(pointer, s string, allowed ...string) {
	if slices.Contains(allowed, s) {
		return
	}

	named := slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" })
	c.add(FieldError{
		Pointer:    pointer,
		Code:       "invalid",
		Detail:     "must be one of " + strings.Join(named, ", "),
		Suggestion: Nearest(s, named),
	})
}

func (c *checker) date(pointer string, d Date) bool {
	_, ok := ParseDate(string(d))
	if d != "" && !ok {
		c.fail(pointer, "invalid", "must be a date, such as 2026-01-31")
	}
	return ok
}

// origin sets the order's origin: its own, else the account's, else, in test
// mode, a sample. A location that is named must have been found before.
func (c *checker) origin(o *Order, n Normalizing) {
	switch {
	case o.Origin != (Address{}):
		origin, invalid := o.Origin.Normalize("/origin")
		o.Origin = origin
		c.add(invalid...)
	case o.Location.ID != "":
	case n.Account.Location != nil:
		o.LeaveFrom(*n.Account.Location)
	default:
		o.Origin = DefaultOrigin(n.Tenant, n.Account)
	}
}

// DefaultOrigin is where parcels come from if a client does not say: the tenant's
// default location, else the account's sender address, else, in test mode, a
// sample. In live mode the zero address is none.
func DefaultOrigin(t Tenant, a Account) Address {
	switch {
	case a.Location != nil:
		return a.Location.Address
	case a.Origin != nil:
		return *a.Origin
	case !t.Livemode:
		return sampleOrigin
	}
	return Address{}
}

func (c *checker) parcels(list []Parcel, n Normalizing) []Parcel {
	switch {
	case len(list) == 0:
		c.fail("/parcel", "required", "is required")
	case len(list) > MaxParcels:
		c.fail("/parcels", "too_long", fmt.Sprintf("must have at most %d parcels", MaxParcels))
		return list
	}

	out := make([]Parcel, len(list))
	for i, parcel := range list {
		pointer := "/parcel"
		if !n.OneParcel {
			pointer = fmt.Sprintf("/parcels/%d", i)
		}
		out[i] = c.parcel(pointer, parcel, n.Account.Units)
	}
	return out
}

func (c *checker) parcel(pointer string, p Parcel, units Units) Parcel {
	if p.WeightUnit == "" {
		p.WeightUnit = units.Weight
	}
	if _, ok := p.WeightUnit.grams(); !ok {
		c.fail(pointer+"/weightUnit", "invalid", "must be one of lb, oz, kg, g")
	}
	c.positive(pointer+"/weight", p.Weight, maxWeight)
	p.WeightGrams = p.WeightUnit.Grams(p.Weight)

	p.Packaging = c.text(pointer+"/packaging", p.Packaging, 50, false)
	if p.Packaging == "custom" {
		p.Packaging = ""
	}

	if p.Dimensions != nil {
		p.Dimensions = new(c.dimensions(pointer+"/dimensions", *p.Dimensions, units))
	}
	return p
}

func (c *checker) dimensions(pointer string, d Dimensions, units Units) Dimensions {
	if d.Unit == "" {
		d.Unit = units.Length
	}
	if _, ok := d.Unit.millimetres(); !ok {
		c.fail(pointer+"/unit", "invalid", "must be one of in, cm, mm")
	}
	c.positive(pointer+"/length", d.Length, maxLength)
	c.positive(pointer+"/width", d.Width, maxLength)
	c.positive(pointer+"/height", d.Height, maxLength)

	d.LengthMM = d.Unit.Millimetres(d.Length)
	d.WidthMM = d.Unit.Millimetres(d.Width)
	d.HeightMM = d.Unit.Millimetres(d.Height)
	return d
}

// MaxName is the longest name of an account, a key or a connection, in
// characters.
const MaxName = 100

// CheckText returns a text that is typed once and shown in many places, such as
// a name: without the spaces around it, and with what is invalid in it. It may
// be empty.
func CheckText(pointer, text string, limit int) (string, []FieldError) {
	c := checker{}
	text = c.text(pointer, text, limit, false)
	return text, c.errors
}

// CheckBox returns a saved box's name and sides as stored, or an Invalid error
// that lists the invalid ones.
func CheckBox(name string, d Dimensions, units Units) (string, Dimensions, error) {
	c := checker{}
	name = c.text("/name", name, maxReference, true)
	d = c.dimensions("", d, units)
	return name, d, InvalidFields(c.errors)
}

func (c *checker) positive(pointer string, v, limit float64) {
	// Written so that it also catches NaN, which compares as false.
	if !(v > 0) || math.IsInf(v, 0) {
		c.fail(pointer, "invalid", "must be greater than 0")
	} else if v > limit {
		c.fail(pointer, "invalid", fmt.Sprintf("must be at most %.0f", limit))
	}
}

// CheckMetadata returns an Invalid error that lists what is wrong with metadata.
func CheckMetadata(m map[string]string) error {
	c := checker{}
	c.metadata(m)
	return InvalidFields(c.errors)
}

func (c *checker) metadata(m map[string]string) {
	if len(m) > MaxMetadata {
		c.fail("/metadata", "too_long", fmt.Sprintf("must have at most %d keys", MaxMetadata))
		return
	}
	for key, value := range m {
		c.text("/metadata", key, maxNote, true)
		if len(value) > 0 {
			c.text("/metadata", value, maxNote, false)
		}
	}
}

// itemUnit is the unit of declared weights: that of the first parcel, as the API
// documents it. An order without parcels is refused; its unit is the account's.
func itemUnit(parcels []Parcel, units Units) WeightUnit {
	if len(parcels) == 0 {
		return units.Weight
	}
	return parcels[0].WeightUnit
}

// customs returns the declaration as stored; the client's own is not touched.
// Items are weighed in the given unit.
func (c *checker) customs(declared *Customs, unit WeightUnit) *Customs {
	if declared == nil {
		return nil
	}

	d := *declared
	d.ContentsType = c.text("/customs/contentsType", d.ContentsType, maxReference, false)
	d.Incoterm = c.text("/customs/incoterm", d.Incoterm, maxReference, false)
	d.Signer = c.text("/customs/signer", d.Signer, maxReference, false)
	d.InvoiceNumber = c.text("/customs/invoiceNumber", d.InvoiceNumber, maxReference, false)

	d.TaxIDs = slices.Clone(d.TaxIDs)
	for i, id := range d.TaxIDs {
		d.TaxIDs[i] = c.text(fmt.Sprintf("/customs/taxIds/%d", i), id, maxReference, true)
	}
	d.TaxIdentifiers = c.taxIdentifiers(d.TaxIdentifiers)
	c.oneOf("/customs/paperless", d.Paperless, "", "auto", "off")

	if len(d.Items) == 0 {
		c.fail("/customs/items", "required", "is required")
	}
	if len(d.Items) > MaxItems {
		c.fail("/customs/items", "too_long", fmt.Sprintf("must have at most %d items", MaxItems))
		return &d
	}

	d.Items = slices.Clone(d.Items)
	for i := range d.Items {
		c.item(fmt.Sprintf("/customs/items/%d", i), &d.Items[i], unit)
	}
	return &d
}

// taxIdentifiers returns the identifiers as stored; the client's own are not
// touched.
func (c *checker) taxIdentifiers(given []TaxIdentifier) []TaxIdentifier {
	if len(given) > maxTaxIdentifiers {
		c.fail("/customs/taxIdentifiers", "too_long", fmt.Sprintf("must have at most %d identifiers", maxTaxIdentifiers))
		return given
	}

	list := slices.Clone(given)
	for i := range list {
		id := &list[i]
		pointer := fmt.Sprintf("/customs/taxIdentifiers/%d", i)

		c.oneOf(pointer+"/type", id.Type, TaxIdentifierTypes...)
		id.Number = c.text(pointer+"/number", id.Number, 50, true)
		c.oneOf(pointer+"/party", id.Party, append([]string{""}, TaxParties...)...)

		id.Country = upperASCII(id.Country)
		if id.Country != "" && !KnownCountry(id.Country) {
			c.fail(pointer+"/country", "unknown_country", "must be a two-letter ISO 3166-1 code, such as DE")
		}
	}
	return list
}

// productIdentifiers returns the identifiers of one item as stored.
func (c *checker) productIdentifiers(pointer string, given []ProductIdentifier) []ProductIdentifier {
	if len(given) > maxProductIdentifiers {
		c.fail(pointer, "too_long", fmt.Sprintf("must have at most %d identifiers", maxProductIdentifiers))
		return given
	}

	list := slices.Clone(given)
	for i := range list {
		id := &list[i]
		at := fmt.Sprintf("%s/%d", pointer, i)

		c.oneOf(at+"/type", id.Type, ProductIdentifierTypes...)
		id.Number = c.text(at+"/number", id.Number, maxReference, id.Type != "none")
		if id.Type == "none" && id.Number != "" {
			c.fail(at+"/number", "invalid", "must be omitted if the type is none")
		}
	}
	return list
}

func (c *checker) item(pointer string, item *CustomsItem, unit WeightUnit) {
	item.Description = c.text(pointer+"/description", item.Description, 200, true)
	item.HSCode = c.text(pointer+"/hsCode", item.HSCode, maxReference, false)
	item.SKU = c.text(pointer+"/sku", item.SKU, maxReference, false)
	item.Manufacturer = c.text(pointer+"/manufacturer", item.Manufacturer, maxReference, false)
	item.ProductIdentifiers = c.productIdentifiers(pointer+"/productIdentifiers", item.ProductIdentifiers)

	if item.Quantity < 1 {
		c.fail(pointer+"/quantity", "invalid", "must be at least 1")
	}
	item.OriginCountry = upperASCII(item.OriginCountry)
	if item.OriginCountry != "" && !KnownCountry(item.OriginCountry) {
		c.fail(pointer+"/originCountry", "unknown_country", "must be a two-letter ISO 3166-1 code, such as DE")
	}
	if !(item.Weight >= 0) || item.Weight > maxWeight {
		c.fail(pointer+"/weight", "invalid", "must be greater than 0")
		return
	}
	item.WeightGrams = unit.Grams(item.Weight)
}

func (c *checker) billing(given *Billing) *Billing {
	if given == nil {
		return nil
	}

	billing := *given
	c.oneOf("/billing/type", billing.Type, "sender", "recipient", "third_party")
	billing.Account = c.text("/billing/account", billing.Account, 50, billing.Type != "sender")
	billing.Zip = c.text("/billing/zip", billing.Zip, maxZip, false)
	billing.Country = upperASCII(billing.Country)
	if billing.Country != "" && !KnownCountry(billing.Country) {
		c.fail("/billing/country", "unknown_country", "must be a two-letter ISO 3166-1 code, such as DE")
	}
	return &billing
}
