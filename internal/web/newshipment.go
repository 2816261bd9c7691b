package web

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// newShipment is the form of a new shipment, as it was filled in.
type newShipment struct {
	Order     ship.Order
	Once      string // names the purchase, so that a second click is the same one
	Weight    string
	Sides     [3]string
	Wrong     problems
	Countries []choice
	Units     ship.Units
	Quotes    *shipping.Quotes
}

// emptyShipment handles GET /app/{mode}/shipments/new.
func (s *Web) emptyShipment(v *visit) error {
	p := v.shipmentForm()
	p.Order.Destination.Country = "US"
	if o := v.who.Account.Origin; o != nil {
		p.Order.Destination.Country = o.Country
	}
	return v.show(http.StatusOK, newShipmentPage(v.frame("New shipment", "shipments"), p))
}

// shipmentForm reads the form.
func (v *visit) shipmentForm() newShipment {
	p := newShipment{Units: v.who.Account.Units, Countries: countryChoices(), Once: v.form("once"), Weight: v.form("weight")}
	if p.Once == "" {
		p.Once = newOnce()
	}
	o := &p.Order
	o.OrderID, o.Reference, o.ShipDate = v.form("order"), v.form("reference"), ship.Date(v.form("shipDate"))
	o.Destination = ship.Address{
		Name: v.form("name"), Company: v.form("company"), Address1: v.form("address1"), Address2: v.form("address2"),
		City: v.form("city"), State: v.form("state"), Zip: v.form("zip"), Country: v.form("country"), Phone: v.form("phone"), Email: v.form("email"),
	}
	if v.form("residential") != "" {
		o.Destination.Residential = new(true)
	}
	o.Options.Signature = v.form("signature")
	o.Options.SaturdayDelivery = v.form("saturday") != ""
	parcel := ship.Parcel{Weight: number(p.Weight), WeightUnit: ship.WeightUnit(v.form("weightUnit")), Packaging: v.form("packaging")}
	p.Sides = [3]string{v.form("length"), v.form("width"), v.form("height")}
	if p.Sides != [3]string{} {
		parcel.Dimensions = &ship.Dimensions{Length: number(p.Sides[0]), Width: number(p.Sides[1]), Height: number(p.Sides[2]), Unit: ship.LengthUnit(v.form("lengthUnit"))}
	}
	o.Parcels = []ship.Parcel{parcel}
	return p
}

// number reads what people type; what is none is zero, which the service
// refuses.
func number(s string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	if err != nil {
		return 0
	}
	return n
}

// rates handles POST /app/{mode}/shipments/rates: the offers, or what is wrong
// with the form.
func (s *Web) rates(v *visit) error {
	p := v.shipmentForm()
	quotes, err := s.Shipping.Quote(v.ctx(), shipping.QuoteInput{Tenant: v.tenant(), Account: v.who.Account, Order: p.Order, OneParcel: true})
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong = wrong
	} else if err != nil {
		return err
	}
	if err == nil {
		p.Quotes = &quotes
	}
	f := v.frame("New shipment", "shipments")
	if v.isPart() {
		return v.show(http.StatusOK, offers(f, p))
	}
	return v.show(http.StatusOK, newShipmentPage(f, p))
}

// buyShipment handles POST /app/{mode}/shipments: buys the rate that was
// chosen.
func (s *Web) buyShipment(v *visit) error {
	p := v.shipmentForm()
	in := shipping.BuyInput{
		Tenant: v.tenant(), Account: v.who.Account, Order: p.Order, OneParcel: true, RateID: v.form("rate"), OnDuplicate: "allow",
		IdempotencyKey: "dashboard-" + p.Once,
	}
	// The form and the rate make the purchase: the same form sent twice buys
	// once, and a changed one is another.
	in.Fingerprint = sha256.Sum256([]byte(v.r.PostForm.Encode()))
	bought, err := s.Shipping.Buy(v.ctx(), in)
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong = wrong
		p.Once = newOnce()
		return v.show(http.StatusUnprocessableEntity, newShipmentPage(v.frame("New shipment", "shipments"), p))
	}
	if err != nil {
		return err
	}
	v.record("shipment.bought", string(bought.Shipment.ID), nil)
	done := "created"
	if bought.Pending {
		done = "pending"
	}
	return v.redirect(v.to("shipments", string(bought.Shipment.ID)), done)
}

// needs says whether the country's addresses have the field, by asking for one
// without it.
func (p newShipment) needs(field string) bool {
	_, wrong := ship.Address{Name: "x", Address1: "x", City: "x", Country: p.Order.Destination.Country}.Normalize("")
	return slices.ContainsFunc(wrong, func(f ship.FieldError) bool { return f.Pointer == "/"+field && f.Code == "required" })
}

// isFastest reports whether no offer is quicker than the i-th.
func (p newShipment) isFastest(i int) bool {
	rates := p.Quotes.Rates
	if len(rates) < 2 || rates[i].TransitDays == 0 {
		return false
	}
	for k, r := range rates {
		if r.TransitDays != 0 && (r.TransitDays < rates[i].TransitDays || r.TransitDays == rates[i].TransitDays && k < i) {
			return false
		}
	}
	return true
}

// today is the default ship date.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
