package web

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// formRoutes are the parts of the form of a new shipment, and the boxes that
// it offers.
func (s *Web) formRoutes() []route {
	return []route{
		post("/app/{mode}/shipments/fields", member.BuyShipments, s.shipmentFields),
		get("/app/{mode}/boxes", member.BuyShipments, s.boxes),
		post("/app/{mode}/boxes", member.BuyShipments, s.addBox),
		post("/app/{mode}/boxes/{id}/remove", member.BuyShipments, s.removeBox),
	}
}

// newShipment is the form of a new shipment, as it was filled in.
type newShipment struct {
	Order     ship.Order
	Once      string // names the purchase, so that a second click is the same one
	Weight    string
	Sides     [3]string
	Abroad    bool // the parcel crosses a border
	Items     []customsLine
	Currency  string
	Wrong     problems
	Countries []choice
	Units     ship.Units
	Boxes     []account.Box
	Box       string
	Asked     []asked // who is asked for rates, when all is well
	Quotes    *shipping.Quotes
	NoCarrier bool // is connected in the mode
}

// emptyShipment handles GET /app/{mode}/shipments/new.
func (s *Web) emptyShipment(v *visit) error {
	p := v.shipmentForm()
	p.Order.Destination.Country = "US"
	if o := v.who.Account.Origin; o != nil {
		p.Order.Destination.Country = o.Country
	}
	return v.showForm(http.StatusOK, p)
}

func (v *visit) showForm(status int, p newShipment) error {
	var err error
	if p.Boxes, err = v.Account.Boxes(v.ctx(), v.tenant()); err != nil {
		return err
	}
	if p.NoCarrier, err = v.noCarrier(); err != nil {
		return err
	}
	return v.show(status, newShipmentPage(v.frame("New shipment", "shipments"), p))
}

// shipmentForm reads the form.
func (v *visit) shipmentForm() newShipment {
	p := newShipment{
		Units: v.who.Account.Units, Currency: v.who.Account.Currency, Countries: countryChoices(), Once: v.form("once"), Weight: v.form("weight"), Box: v.form("box"),
	}
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
	if unit := v.form("lengthUnit"); unit != "" {
		p.Units.Length = ship.LengthUnit(unit)
	}
	if p.Sides != [3]string{} {
		parcel.Dimensions = &ship.Dimensions{Length: number(p.Sides[0]), Width: number(p.Sides[1]), Height: number(p.Sides[2]), Unit: p.Units.Length}
	}
	o.Parcels = []ship.Parcel{parcel}
	p.Abroad = v.originCountry() != o.Destination.Country && o.Destination.Country != ""
	v.readCustoms(&p)
	return p
}

// originCountry is where the account's parcels come from; the sandbox sends
// from a sample warehouse until that is known.
func (v *visit) originCountry() string {
	if o := v.who.Account.Origin; o != nil {
		return o.Country
	}
	return "US"
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

// buyShipment handles POST /app/{mode}/shipments: buys the rate that was
// chosen, or what the rules choose.
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
		return v.showForm(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	v.record("shipment.bought", string(bought.Shipment.ID), nil)
	switch {
	case bought.Pending:
		return v.redirect(v.to("shipments", string(bought.Shipment.ID)), "pending")
	case v.form("then") == "print":
		return v.redirect(v.to("shipments", string(bought.Shipment.ID), "print"), "")
	}
	return v.redirect(v.to("shipments", string(bought.Shipment.ID)), "created")
}

// shipmentFields handles POST /app/{mode}/shipments/fields: a part of the form
// that follows from another.
func (s *Web) shipmentFields(v *visit) error {
	p := v.shipmentForm()
	v.w.Header().Set("HX-Trigger-After-Swap", "filled") // the rates are asked for again
	switch v.query("part") {
	case "country":
		return v.show(http.StatusOK, countryParts(v.frame("", ""), p))
	case "item":
		p.Items = append(p.Items, customsLine{Quantity: "1"})
		return v.show(http.StatusOK, customsCard(v.frame("", ""), p, false))
	case "box":
		var err error
		if p.Boxes, err = s.Account.Boxes(v.ctx(), v.tenant()); err != nil {
			return err
		}
		p.fillBox()
		return v.show(http.StatusOK, parcelFields(v.frame("", ""), p))
	}
	return errNoPage
}

// fillBox puts the sides of the chosen box into the form.
func (p *newShipment) fillBox() {
	i := slices.IndexFunc(p.Boxes, func(b account.Box) bool { return string(b.ID) == p.Box })
	if i < 0 {
		return
	}
	b := p.Boxes[i]
	p.Sides = [3]string{decimal(b.Length), decimal(b.Width), decimal(b.Height)}
	p.Units.Length = b.Unit
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// boxChoices are the saved boxes with their sides.
func (p newShipment) boxChoices() []choice {
	list := []choice{{"", "No saved box"}}
	for _, b := range p.Boxes {
		list = append(list, choice{string(b.ID), b.Name + " (" + boxSize(b) + ")"})
	}
	return list
}

func boxSize(b account.Box) string { return size(ship.Parcel{Dimensions: &b.Dimensions}) }

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

// refusal is why the label was not bought, where no field is the reason.
func (p newShipment) refusal() string {
	if len(p.Wrong.Fields) > 0 && p.Wrong.At("/rateId") == "" {
		return ""
	}
	return or(p.Wrong.At("/rateId"), p.Wrong.All)
}

// today is the default ship date.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

// weightUnit is the one to show.
func (p newShipment) weightUnit() string {
	return string(cmp.Or(p.Order.Parcels[0].WeightUnit, p.Units.Weight))
}
